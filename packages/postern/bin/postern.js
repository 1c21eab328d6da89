#!/usr/bin/env node
// Plain old JavaScript on purpose: an old Node must get as far as the sentence below.
import { existsSync } from "fs";
import { join } from "path";

var needed = 24;
var found = process.versions.node;

if (Number(found.split(".")[0]) < needed) {
  console.error(
    "Postern needs Node " +
      needed +
      " or newer, and this is Node " +
      found +
      ": get it from https://nodejs.org/en/download or with `nvm install " +
      needed +
      "`.",
  );
  process.exit(1);
}

var builtIn = process.getBuiltinModule("module");
var home = process.env.HOME && join(process.env.HOME, ".cache");
var caches = process.env.XDG_CACHE_HOME || process.env.LOCALAPPDATA || home;
// Not in the folder for temporary files, where others could put compiled code. If it cannot be written there is none.
if (caches) builtIn.enableCompileCache(join(caches, "postern"));

// The package holds no sources. Where they are, this is a checkout, and what was built there may be old.
var source = new URL("../src/cli/main.ts", import.meta.url);
var isCheckout = existsSync(source);
if (isCheckout)
  builtIn.registerHooks({
    resolve: (specifier, context, next) => {
      var conditions = context.conditions.concat("postern-source");
      return next(specifier, Object.assign({}, context, { conditions: conditions }));
    },
  });
import(isCheckout ? source : new URL("../dist/cli/main.js", import.meta.url));

#!/usr/bin/env node
// Plain old JavaScript on purpose: an old Node must get as far as the sentence below.
import { existsSync } from "fs";

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

// The package holds no sources. Where they are, this is a checkout, and what was built there may be old.
var source = new URL("../src/cli/main.ts", import.meta.url);
var isCheckout = existsSync(source);
if (isCheckout)
  process.getBuiltinModule("module").registerHooks({
    resolve: (specifier, context, next) => {
      var conditions = context.conditions.concat("postern-source");
      return next(specifier, Object.assign({}, context, { conditions: conditions }));
    },
  });
import(isCheckout ? source : new URL("../dist/cli/main.js", import.meta.url));

import { RuntimeFault } from "@postern/core";

const needed = 24;

/**
 * The entry imports this file first, so an old Node is refused in a sentence. That works while it knows every name that
 * the entry imports. `packages/postern/bin/postern.js` has the same check in older JavaScript.
 */
const found = process.versions.node;
if (Number(found.split(".")[0]) < needed)
  throw new RuntimeFault(
    "node_too_old",
    `Postern needs Node ${needed} or newer, and this is Node ${found}: get it from https://nodejs.org/en/download or with \`nvm install ${needed}\`.`,
  );

/** Loaded with `--import`: the package that WITHOUT_PACKAGE names is as if it were not installed. */
import { registerHooks } from "node:module";

const missing = process.env.WITHOUT_PACKAGE;
registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== missing) return next(specifier, context);
    throw Object.assign(new Error(`Cannot find package '${specifier}'`), { code: "ERR_MODULE_NOT_FOUND" });
  },
});

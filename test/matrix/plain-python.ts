import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { pythonSource } from "../../packages/engines/src/cpython/prelude/prelude.ts";
import type { MatrixProgram } from "./programs.ts";

/** A program's value and output, or the name of its error. */
export type Ending = { readonly value: unknown; readonly printed: string } | { readonly error: string };

/** The Python that the engine finds. */
export const python: string = existsSync("/usr/bin/python3") ? "/usr/bin/python3" : "python3";

const harness = `
import ast, asyncio, contextlib, io

def ending(source):
    out, names = io.StringIO(), {"__name__": "__main__"}
    module = types.ModuleType("__main__")
    sys.modules["__main__"], module.__dict__["__builtins__"] = module, __builtins__
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            tree = ast.parse(source)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "script.py", "exec", dont_inherit=True), module.__dict__)
            value = eval(compile(ast.Expression(last.value), "script.py", "eval"), module.__dict__) if last else None
            return {"value": plain(value, False), "printed": out.getvalue()}
    except BaseException as error:
        return {"error": type(error).__name__}

real = sys.stdout
results = [ending(source) for source in json.load(sys.stdin)]
real.write(json.dumps(results))
`;

/** Runs the programs in plain CPython, in one process. */
export function plainPython(programs: readonly MatrixProgram[]): readonly Ending[] {
  const input = JSON.stringify(programs.map(({ source }) => source));
  const ran = spawnSync(python, ["-I", "-c", pythonSource("values") + harness], {
    input,
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  if (ran.status !== 0) throw new Error(`Plain CPython did not run the programs: ${ran.stderr}`);
  // The harness writes one ending a program, in their order.
  return JSON.parse(ran.stdout) as readonly Ending[];
}

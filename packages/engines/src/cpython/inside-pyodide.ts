/**
 * Runs in Deno, whose only permission is to read Pyodide and this machine's time zones. Loads Pyodide, then serves one
 * script over standard input and output.
 */

/** The part of Deno that is used here. Its types are not a dependency. */
declare const Deno: {
  readonly stdin: { readSync(bytes: Uint8Array): number | null };
  readonly stdout: { writeSync(bytes: Uint8Array): number };
  exit(code: number): never;
  readDirSync(path: string): Iterable<{ readonly name: string; readonly isDirectory: boolean }>;
  readFileSync(path: string): Uint8Array;
};

/** Node's `process` in Deno. Emscripten reads the program's name from it. */
declare const process: { readonly argv: string[] };

interface Python {
  runPython(code: string, options?: { readonly filename: string }): unknown;
  readonly FS: { mkdirTree(path: string): void; writeFile(path: string, bytes: Uint8Array): void };
  readonly globals: { get(name: string): (start: string, ask: (frame: string) => string) => string };
}

interface Pyodide {
  loadPyodide(options: Readonly<Record<string, unknown>>): Promise<Python>;
}

type Message = Readonly<Record<string, unknown>>;

// Saved before a script can replace them.
const { stdin, stdout } = Deno;
const exit: (code: number) => never = Deno.exit;

function readExactly(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let have = 0; have < length; ) {
    const read = stdin.readSync(bytes.subarray(have));
    if (read === null || read === 0)
      exit(0); // the host has ended
    else have += read;
  }
  return bytes;
}

function receive(): Message {
  const length = new DataView(readExactly(4).buffer).getUint32(0);
  // The host's frames are always JSON objects.
  return JSON.parse(new TextDecoder().decode(readExactly(length))) as Message;
}

function send(message: Message): void {
  const body = new TextEncoder().encode(JSON.stringify(message));
  const frame = new Uint8Array(body.length + 4);
  new DataView(frame.buffer).setUint32(0, body.length);
  frame.set(body, 4);
  for (let written = 0; written < frame.length; ) written += stdout.writeSync(frame.subarray(written));
}

/** Copies of other folders, or zones with leap seconds. */
const leftOut: ReadonlySet<string> = new Set(["posix", "right"]);

/** Copies this machine's time zones to where Python looks for them; the package has none. */
function bringZones(files: Python["FS"], from: string, to = "/usr/share/zoneinfo"): void {
  files.mkdirTree(to);
  for (const { name, isDirectory } of Deno.readDirSync(from)) {
    const [source, place] = [`${from}/${name}`, `${to}/${name}`];
    if (isDirectory && !leftOut.has(name)) bringZones(files, source, place);
    else if (!isDirectory && /^[A-Z]/.test(name)) files.writeFile(place, Deno.readFileSync(source));
  }
}

/** The environment of a script: nothing of this machine, and the same in each run. */
const environment = {
  ...{ HOME: "/tmp", USER: "web_user", LOGNAME: "web_user", PATH: "/", PWD: "/workspace", LANG: "C.UTF-8" },
  ...{ _: "/usr/bin/python3", PYTHONDONTWRITEBYTECODE: "1", PYTHONHASHSEED: "0" },
};

async function serve(): Promise<void> {
  process.argv[1] = environment._;
  const hello = receive();
  const { token } = hello;
  // The package is named at run time, so that only its own folder must be readable.
  const { loadPyodide } = (await import(`file://${String(hello["pyodide"])}/pyodide.mjs`)) as Pyodide;
  const quiet = (): void => undefined;
  const python = await loadPyodide({
    indexURL: `${String(hello["pyodide"])}/`,
    ...{
      stdin: () => null,
      stdout: quiet,
      stderr: quiet,
      env: environment,
    },
  });
  if (typeof hello["zones"] === "string") bringZones(python.FS, hello["zones"]);
  for (const name of ["Deno", "process"]) Reflect.deleteProperty(globalThis, name); // they contain paths of the host
  python.runPython(String(hello["program"]), { filename: "<postern>" });
  send({ ready: true, token });
  const start = receive();
  send({ started: true, token });
  receive(); // the first turn: nothing is settled yet
  const ask = (frame: string): string => {
    send({ ...(JSON.parse(frame) as Message), token }); // a script can forge the frame, so the host checks it
    const { results, passedMs } = receive();
    return `{"results":${String(results)},"passedMs":${String(passedMs)}}`;
  };
  const last = python.globals.get("serve")(JSON.stringify(start), ask);
  send({ ...(JSON.parse(last) as Message), token });
  exit(0);
}

await serve();

// Help, progress, and the end of a script: its value, its error, promises that failed, and the text for the host.
async function help(tool) {
  if (tool === undefined || tool === tools) return ask("help", "help", {});
  const name = typeof tool === "string" ? tool : weakGet(isTool, tool);
  if (name === undefined) throw new Wrong("help takes a tool, as in help(tools.server.tool).");
  return ask("help", "help", { tool: name });
}
async function progress(message, fraction) {
  return ask("progress", "progress", { message: shown(message), ...(isFiniteNumber(fraction) ? { fraction } : {}) });
}

// ---- the script's end ----
let state = "running",
  value,
  reason,
  report;
/** Failed promises without a handler. */
const unhandled = new Pairs();
let unhandledCount = 0;
/** The engine calls it for failed promises. Returns whether the script must stop, whatever it catches. */
function notice(promise, problem, isHandled) {
  if (isSpent) return true;
  if (isHandled) unhandledCount -= mapDelete(unhandled, promise) ? 1 : 0;
  else if (unhandledCount < 1000) {
    mapSet(unhandled, promise, problem);
    unhandledCount++;
  }
  return false;
}
function failUnhandled() {
  const [first] = unhandled.values();
  const { message, line } = failure(first);
  const more = unhandledCount > 1 ? " (one of " + unhandledCount + ")" : "";
  state = "failed";
  report = {
    message: message + " Nothing waited for it" + more + ": await every call.",
    ...(line === undefined ? {} : { line }),
  };
}
function follow(promise) {
  then(promise, (result) => {
    const end = result?.value;
    const called = typeof end === "function" && !weakHas(isTool, end) ? end() : end; // a script that is one function is called
    return then(Later.resolve(called), (last) => {
      state = "done";
      value = last;
    });
  }).catch((problem) => {
    state = "failed";
    reason = problem;
  });
}
function drain() {
  if (state === "done" && unhandledCount > 0 && asked.length === 0 && waiting.size === 0) failUnhandled();
  if (isSpent) return '{"state":"spent"' + printedSoFar() + "}";
  let text = '{"state":"' + state + '","timer":' + untilTimer() + printedSoFar();
  if (asked.length > 0) {
    text += ',"calls":[' + asked.join(",") + "]";
    asked.length = 0;
  } else text += ',"places":' + places + ',"open":[' + [...waiting.keys()].join(",") + "]";
  if (state === "failed") text += ',"reason":' + stringify(report ?? failure(reason));
  if (state === "done") {
    let end;
    try {
      end = stringify(value, forReading);
    } catch (problem) {
      return text + ',"unwritable":' + stringify(describe(problem)) + "}";
    }
    if (end !== undefined) text += ',"value":' + end;
  }
  return text + "}";
}
function printedSoFar() {
  if (printed.length === 0) return "";
  const text = ',"printed":' + stringify(printed.map(({ stream, parts }) => ({ stream, text: parts.join("") })));
  printed = [];
  return text;
}
function failure(problem) {
  if (!(problem instanceof Failure)) return { message: "Thrown: " + shown(problem) };
  const details = problem instanceof ToolError ? " [" + problem.code + "] " + problem.advice : "";
  const line = lineOf(problem.stack) ?? problem.line;
  return { message: describe(problem) + details, ...(line === undefined ? {} : { line }) };
}

const offer = {
  tools,
  crypto,
  performance,
  Buffer,
  URLSearchParams: Query,
  artifacts,
  files,
  help,
  progress,
  console,
  ToolResult,
  ToolError,
  ToolDenied,
  print: out,
  sleep: (ms) => new Later((resolve) => later(resolve, ms, false, [])),
  setTimeout: (run, ms, ...given) => later(run, ms, false, given),
  setInterval: (run, ms, ...given) => later(run, ms, true, given),
  clearTimeout: forget,
  clearInterval: forget,
};
for (const name of keysOf(offer))
  Object.defineProperty(globalThis, name, {
    value: offer[name],
    writable: true,
    configurable: true,
    enumerable: false,
  });
const mailbox = { settle, drain, tick, follow, begin, notice };

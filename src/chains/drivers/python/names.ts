/** A name as a Python script writes it: `create-issue` is `create_issue`, `class` is `class_`, `1st` is `_1st`. */
export function pythonName(name: string): string {
  const plain = isIdentifier(name) ? name : name.replace(/[^0-9A-Za-z_]/g, "_").replace(/^(?=\d|$)/, "_");
  return keywords.has(plain) ? `${plain}_` : plain;
}

/** Python reads identifiers in their compatibility form. */
function isIdentifier(name: string): boolean {
  return /^[\p{XID_Start}_]\p{XID_Continue}*$/u.test(name) && name.normalize("NFKC") === name;
}

/** By member: the name of its keyword argument. A member whose name is another one's has none. */
export function argumentNames(members: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set(members.filter((name) => pythonName(name) === name));
  const names = new Map<string, string>();
  for (const member of members) {
    const name = pythonName(member);
    if (name !== member && taken.has(name)) continue;
    taken.add(name);
    names.set(member, name);
  }
  return names;
}

export const keywords: ReadonlySet<string> = new Set(
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(
    " ",
  ),
);

/** What a script finds without asking for it: built in (CPython 3.11 to 3.14), ours, and modules that are used as if they were. */
const meant = [
  "abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex copyright credits delattr dict dir divmod enumerate eval exec exit filter float format frozenset getattr globals hasattr hash help hex id input int isinstance issubclass iter len license list locals map max memoryview min next object oct open ord pow print property quit range repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars zip",
  "ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError ConnectionResetError DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError Exception ExceptionGroup FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError ImportError ImportWarning IndentationError IndexError InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError NotADirectoryError NotImplemented NotImplementedError OSError OverflowError PendingDeprecationWarning PermissionError ProcessLookupError PythonFinalizationError RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning ZeroDivisionError",
  "tools artifacts progress ToolError ToolDenied ToolResult self",
  "asyncio collections datetime functools itertools json math os random re sys time typing",
].flatMap((line) => line.split(" "));

const taken: ReadonlySet<string> = new Set([...keywords, ...meant]);

/** The same for the Python around a script: words with spaces between them. */
export const takenNames: string = [...taken].join(" ");

/** Whether a tool may be called by this name alone. One that means something in Python goes on meaning that; the tool is `tools.<name>`. */
export function standsAlone(name: string): boolean {
  return !name.startsWith("_") && !taken.has(name);
}

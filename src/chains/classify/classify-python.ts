/** Python, by what is not known to be harmless. */
import { anyOf, lineAt, type Mark, marked } from "./code-marks.ts";
import { blankPython } from "./code-text.ts";
import { pythonPlaces } from "./python-places.ts";

/** Modules that compute. Their own modules are reached only where they are named here, or end with a `.*`. */
const harmless: ReadonlySet<string> = new Set(
  `__future__ abc array asyncio base64 binascii bisect calendar cmath collections collections.abc colorsys contextlib copy csv
  dataclasses datetime decimal difflib enum fractions functools graphlib hashlib heapq hmac html io itertools json math
  numbers operator os os.path pathlib pprint random re secrets statistics string struct sys textwrap time types typing
  typing_extensions unicodedata urllib.parse uuid zlib zoneinfo dateutil dateutil.parser dateutil.relativedelta pytz
  numpy numpy.linalg numpy.random pandas polars scipy scipy.* sklearn sklearn.* statsmodels.api statsmodels.formula.api
  matplotlib matplotlib.pyplot matplotlib.dates matplotlib.ticker seaborn plotly plotly.express plotly.graph_objects sympy
  networkx tabulate pydantic`.split(/\s+/),
);

const marks: readonly Mark[] = [
  {
    found: anyOf(
      `subprocess system popen Popen pty multiprocessing fork forkpty exec[lv]\\w* spawn[lv]\\w* posix_spawn\\w* kill killpg
      create_subprocess_exec create_subprocess_shell subprocess_exec subprocess_shell run_in_executor`,
    ),
    says: "starts processes",
  },
  { found: anyOf("rmtree unlink rmdir removedirs truncate"), says: "removes files" },
  {
    found: anyOf(
      `socket requests httpx aiohttp urllib3 urlopen urlretrieve ftplib smtplib telnetlib paramiko websockets? boto3 botocore
      open_connection open_unix_connection start_server start_unix_server create_connection create_server`,
    ),
    says: "uses the network",
  },
  {
    found: anyOf(
      `exec eval __import__ importlib runcode runpy builtins __builtins__ attrgetter methodcaller breakpoint
      CodeType FunctionType lambdify sympify parse_expr`,
    ),
    says: "runs code made at run time",
  },
  { found: /(?<!\bre\s*\.\s*)(?<!\w)compile(?!\w)/, says: "runs code made at run time" },
  { found: anyOf("ctypes cffi mmap memmap ctypeslib f2py"), says: "reaches into memory" },
  {
    found: anyOf("pickle c?[Pp]ickle marshal shelve dill joblib cloudpickle read_pickle allow_pickle"),
    says: "loads objects that run code",
  },
  {
    found: anyOf("environ\\w* getenv putenv chmod chown setuid setgid symlink\\w* hardlink_to rename[s]?to setrlimit"),
    says: "changes or reads the system",
  },
  {
    found:
      /(?<!\w)__(?!(?:init|post_init|repr|str|eq|ne|lt|le|gt|ge|hash|len|iter|next|getitem|setitem|contains|enter|exit|aenter|aexit|call|add|radd|sub|mul|truediv|neg|bool|name|doc|all|annotations|future|version|slots|main)__)\w+__(?!\w)/,
    says: "looks behind objects",
  },
  { found: anyOf("getattr setattr delattr globals locals vars"), says: "looks behind objects" },
  { found: /(?<!\b(?:self|cls))\.\s*_(?!_)\w/, says: "looks behind objects" },
  {
    found:
      /\.\s*(?:os|sys|io|shutil|socket|codecs|inspect|modules|platform|threading|tempfile|linecache|webbrowser)\b(?!\s*=[^=])/,
    says: "reaches another module through one",
  },
  {
    found: /(?<![\w.])os\b(?!\s*\.\s*(?:path|sep|linesep|getcwd|fspath)\b)(?<!\bimport\s+os)/,
    says: "uses the system",
  },
  {
    found:
      /(?<![\w.])sys\b(?!\s*\.\s*(?:stdout|stderr|argv|version|version_info|maxsize|float_info|getsizeof|setrecursionlimit)\b)(?<!\bimport\s+sys)/,
    says: "uses the system",
  },
  { found: /(?<![\w.])(?:os|sys)\s+as\b/, says: "gives a module another name" },
  { found: anyOf("shutil makedirs copyfile copytree make_archive unpack_archive"), says: "moves or copies files" },
];

/** Why it is critical; nothing where it is safe. */
export function classifyPython(code: string, workspace: readonly string[]): readonly string[] {
  const read = blankPython(code.replaceAll(/\r\n?/g, "\n")); // either ends a line, and a comment
  if ("problem" in read) return [`it cannot be read: ${read.problem}`];
  const plain = read.code.normalize("NFKC"); // as Python reads names: 𝓮𝓿𝓪𝓵 is eval
  return [...marked(plain, marks), ...strangers(plain), ...pythonPlaces(read, workspace)];
}

/** What is imported and not known to be harmless. */
function strangers(code: string): readonly string[] {
  const reasons: string[] = [];
  for (const { 1: from, 2: names = "", index } of code.matchAll(
    /(?:\bfrom\s+([.\w]+)\s+)?\bimport\b\s*(\([^)]*\)|[^\n;]*)/g,
  )) {
    const modules = from === undefined ? listed(names) : [from];
    const inside = from === "os" ? listed(names).filter((name) => name !== "path") : [];
    const odd = [...modules.filter((name) => !isHarmless(name)), ...inside.map((name) => `os.${name}`)];
    if (from === "sys") odd.push("sys");
    for (const name of odd)
      reasons.push(`${lineAt(code, index)}: imports \`${name.slice(0, 80)}\`, which is not known to be harmless`);
  }
  return reasons;
}

/** `a.b as c, d` names a.b and d. */
function listed(names: string): readonly string[] {
  return names
    .replaceAll(/[()]/g, "")
    .split(",")
    .map((name) => name.trim().split(/\s/)[0] ?? "")
    .filter((name) => name !== "");
}

function isHarmless(module: string): boolean {
  if (harmless.has(module)) return true;
  return harmless.has(`${module.split(".")[0]}.*`);
}

/** Python, by what is not known to be harmless. */
import { anyOf, lineAt, type Mark, marked, mostReasons } from "./code-marks.ts";
import { blankPython, type PythonText } from "./code-text.ts";
import { strangers, unknownCalls } from "./python-calls.ts";
import { pythonLookups } from "./python-lookups.ts";
import { pythonPlaces } from "./python-places.ts";
import { innards, tellingText } from "./python-words.ts";

const marks: readonly Mark[] = [
  {
    found: anyOf(
      `subprocess system popen Popen pty multiprocessing fork forkpty exec[lv]\\w* spawn[lv]\\w* posix_spawn\\w* kill killpg
      create_subprocess_exec create_subprocess_shell subprocess_exec subprocess_shell run_in_executor usetex`,
    ),
    says: "starts processes",
  },
  { found: anyOf("rmtree unlink rmdir removedirs truncate"), says: "removes files" },
  {
    found: anyOf(
      `socket requests httpx aiohttp urllib3 urlopen urlretrieve ftplib smtplib telnetlib paramiko websockets? boto3 botocore
      open_connection open_unix_connection start_server start_unix_server create_connection create_server
      create_datagram_endpoint create_unix_\\w+ sock_\\w+ getaddrinfo getnameinfo add_reader add_writer connect_\\w+_pipe
      start_tls load_dataset get_dataset_names fetch_\\w+`,
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
    found: anyOf(
      "environ\\w* getenv putenv f?chdir l?chmod l?chown setuid setgid symlink\\w* hardlink_to rename[s]?to setrlimit",
    ),
    says: "changes or reads the system",
  },
  {
    found:
      /(?<!\w)__(?!(?:init|post_init|repr|str|eq|ne|lt|le|gt|ge|hash|len|iter|next|getitem|setitem|contains|enter|exit|aenter|aexit|call|add|radd|sub|mul|truediv|neg|bool|name|doc|all|annotations|future|version|slots|main)__)\w+__(?!\w)/,
    says: "looks behind objects",
  },
  { found: anyOf("getattr setattr delattr globals locals vars"), says: "looks behind objects" },
  { found: innards, says: "looks behind objects" },
  {
    found: /\bcase\b[^:]{0,300}[(,]\s*(?:_\w*|os|sys|io|shutil|socket|codecs|inspect|modules|builtins)\s*=(?!=)/,
    says: "looks behind objects",
  },
  { found: /\.\s*main\b/, says: "runs another program" },
  { found: anyOf("open_\\w+ tzfile rebuild"), says: "opens what is not looked into" },
  { found: /(?<![\w.])help\s*\(/, says: "loads a module that is named in a text" },
  { found: /\bbackend\s*=(?!=)/, says: "loads a module that is named in a text" },
  { found: /(?<!\b(?:self|cls))\.\s*_(?!_)\w/, says: "looks behind objects" },
  {
    found:
      /\.\s*(?:os|sys|io|shutil|socket|codecs|inspect|modules|platform|threading|tempfile|linecache|webbrowser|tokenize|bltns|genericpath|posixpath)\b(?!\s*=[^=])/,
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
  const joined = { ...read, code: read.code.replaceAll("\\\n", " \n") }; // a line that goes on is one
  const plain = joined.code.normalize("NFKC"); // as Python reads names: 𝓮𝓿𝓪𝓵 is eval
  return [
    ...marked(plain, marks),
    ...hiddenIn(code, joined.code),
    ...strangers(plain),
    ...unknownCalls(plain),
    ...textsIn(joined),
    ...pythonPlaces(joined, workspace),
    ...pythonLookups(joined),
  ];
}

/** Letters that Python reads as others, and an encoding in which a comment is none. */
function hiddenIn(source: string, code: string): readonly string[] {
  const encoding = /^(?:[^\n]*\n)?[ \t\f]*#[^\n]*coding[:=][ \t]*([-\w.]+)/.exec(source)?.[1] ?? "utf-8";
  const odd = code
    .match(/\P{ASCII}/gu)
    ?.find((letter) => /\p{XIDC}/u.test(letter) && /[\w.]/.test(letter.normalize("NFKC")));
  return [
    ...(/^(?:utf-?8(?:-sig)?|ascii|latin-?1|iso-8859-1)$/i.test(encoding) ? [] : [`it is written in \`${encoding}\``]),
    ...(odd === undefined ? [] : [`it hides a name behind \`${odd}\``]),
  ];
}

/** Texts that say what code would say: to a library, or to `format`, which looks into objects. */
function textsIn({ code, strings }: Extract<PythonText, { code: string }>): readonly string[] {
  const isFormatting = /\.\s*format(?:_map)?\b/.test(code);
  const looks = (text: string): boolean =>
    isFormatting && /\{[^{}]*[.[]|^[^{}]*\}|\{[^{}]*$/.test(text.replaceAll(/\{\{|\}\}/g, ""));
  return [...strings]
    .filter(([, text]) => tellingText.test(text) || looks(text))
    .slice(0, mostReasons)
    .map(([at, text]) => {
      const says = looks(text) ? "looks into objects by `format`" : `names \`${text.slice(0, 40)}\` in a text`;
      return `${lineAt(code, at)}: ${says}`;
    });
}

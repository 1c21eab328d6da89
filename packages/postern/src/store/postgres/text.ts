/** PostgreSQL's text holds no NUL and no half of a surrogate pair; JavaScript's strings may. Both are escaped with a backslash. */

const unstorable = /[\\\0\p{Surrogate}]/u;
const eachUnstorable = /[\\\0\p{Surrogate}]/gu;

export function toStored(text: string): string {
  if (!unstorable.test(text)) return text;
  return text.replace(eachUnstorable, (unit) => {
    if (unit === "\\") return "\\\\";
    return `\\${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

export function fromStored(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(/\\(?:\\|([0-9a-f]{4}))/g, (_, unit?: string) =>
    unit === undefined ? "\\" : String.fromCharCode(Number.parseInt(unit, 16)),
  );
}

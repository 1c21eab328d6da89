export function brokenSummary({ message }: Error): string {
  return `The store is broken and every call is refused: ${message}`;
}

/** `1 call`, `2 calls`. @param several for what does not end in `s` then */
export function counted(number: number, one: string, several = `${one}s`): string {
  return `${number} ${number === 1 ? one : several}`;
}

/** U+00A0 to U+00FF in their order. */
const latin =
  "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para " +
  "middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave " +
  "Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute " +
  "Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave " +
  "iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml";

/** Those that encoders write by name. */
const codes: ReadonlyMap<string, number> = new Map([
  ...latin.split(" ").map((name, i): [string, number] => [name, 0xa0 + i]),
  ...Object.entries({
    ...{ amp: "&", AMP: "&", lt: "<", LT: "<", gt: ">", GT: ">", quot: '"', QUOT: '"', apos: "'", Tab: "\t" },
    ...{ NewLine: "\n", excl: "!", num: "#", dollar: "$", percnt: "%", lpar: "(", rpar: ")", ast: "*", plus: "+" },
    ...{ comma: ",", period: ".", sol: "/", colon: ":", semi: ";", equals: "=", quest: "?", commat: "@", lsqb: "[" },
    ...{ lbrack: "[", bsol: "\\", rsqb: "]", rbrack: "]", Hat: "^", lowbar: "_", grave: "`", lcub: "{", lbrace: "{" },
    ...{ verbar: "|", vert: "|", rcub: "}", rbrace: "}", euro: "€", hyphen: "\u2010", dash: "\u2010" },
  }).map(([name, character]): [string, number] => [name, character.charCodeAt(0)]),
]);

/** @param name without `&` and `;`. Returns -1 when it is no entity. */
export function entityCode(name: string): number {
  const [, hex, decimal] = name.startsWith("#") ? (/^#(?:[xX]([0-9a-fA-F]+)|([0-9]+))$/.exec(name) ?? []) : [];
  if (hex !== undefined) return Number.parseInt(hex, 16);
  if (decimal !== undefined) return Number.parseInt(decimal, 10);
  return codes.get(name) ?? -1;
}

/**
 * What JavaScript calls, where a member is named at run time: by such a name every object gives what makes code of a text.
 * It is harmless as long as nothing is called but what is known: what the language computes with, and functions of the code.
 */
import { lineAt, mostReasons, words } from "./code-marks.ts";
import { calledLater } from "./javascript-callbacks.ts";

const globals =
  words(`parseInt parseFloat Number String Boolean Array Object Date Symbol BigInt isNaN isFinite encodeURIComponent
  decodeURIComponent encodeURI decodeURI structuredClone queueMicrotask RegExp Error TypeError RangeError Map Set WeakMap WeakSet
  Promise URL URLSearchParams TextEncoder TextDecoder Uint8Array Uint16Array Uint32Array Int32Array Float64Array setTimeout
  clearTimeout setInterval clearInterval atob btoa`);
const keywords =
  words(`if for while switch catch return function typeof await super async of in new void delete throw do else
  yield case import constructor with`);
const methods =
  words(`at charAt charCodeAt codePointAt concat endsWith includes indexOf lastIndexOf localeCompare match matchAll
  normalize padEnd padStart repeat replace replaceAll search slice split startsWith substring substr toLowerCase toUpperCase
  toLocaleLowerCase toLocaleUpperCase toString trim trimEnd trimStart valueOf fromCharCode fromCodePoint raw copyWithin entries
  every fill filter find findIndex findLast findLastIndex flat flatMap forEach from isArray join keys map of pop push reduce
  reduceRight reverse shift some sort splice toReversed toSorted toSpliced unshift values with assign create defineProperty freeze
  fromEntries groupBy hasOwn is isFrozen seal has get set add delete clear size union intersection difference isSubsetOf
  isSupersetOf then catch finally all allSettled any race resolve reject withResolvers abs acos asin atan atan2 cbrt ceil clz32 cos
  cosh exp expm1 floor fround hypot imul log log10 log1p log2 max min pow random round sign sin sinh sqrt tan tanh trunc parse
  stringify toFixed toPrecision toExponential toLocaleString isInteger isFinite isNaN isSafeInteger parseFloat parseInt asIntN now
  UTC getDate getDay getFullYear getHours getMilliseconds getMinutes getMonth getSeconds getTime getTimezoneOffset getUTCDate
  getUTCDay getUTCFullYear getUTCHours getUTCMinutes getUTCMonth getUTCSeconds setDate setFullYear setHours setMilliseconds
  setMinutes setMonth setSeconds setTime setUTCDate setUTCFullYear setUTCHours setUTCMinutes setUTCMonth setUTCSeconds toISOString
  toJSON toDateString toTimeString toLocaleDateString toLocaleTimeString toUTCString test exec info warn error debug table dir
  group groupEnd time timeEnd count append getAll encode decode format formatToParts NumberFormat DateTimeFormat Collator next
  hasOwnProperty subarray basename dirname extname relative isAbsolute sep
  chunk compact countBy drop dropRight dropWhile fromPairs head initial intersectionBy keyBy last mean meanBy maxBy minBy nth omit
  orderBy partition pick range sortBy sum sumBy tail takeRight take takeWhile uniq uniqBy zip zipObject unzip xor without capitalize
  camelCase kebabCase snakeCase startCase upperFirst lowerFirst truncate words isEmpty isEqual isNil isString isNumber isPlainObject
  cloneDeep defaults mapValues mapKeys groupby differenceBy flatten flattenDeep sample shuffle clamp inRange`);

/** They hand a name on to be looked up. */
const byName = /(?:\bimport\s+([^"';]{0,1000}?)\s*)?\b(?:from|import)\s*["'](?:lodash|lodash-es|ramda)["']/;
const computed = /[\w$)\]"'`}]\s*(?:\?\.\s*)?\[\s*(?!-?\d+\s*\]|["'][^"'\]]*["']\s*\]|\])|[{,]\s*\[[^\][]*\]\s*:/;
const otherWays: readonly RegExp[] = [
  /(?<![\w$])Symbol\s*\.|\.\s*defineProperty\b/,
  /(?<![\w$])(?:toString|valueOf|toJSON|then|get|set)\s*:\s*(?!\(|async\b|function\b)[\w$]/,
  /\.\s*(?:toString|valueOf|toJSON|then)\s*=(?![=>])/,
  /(?<!\}\s*)\)\s*\(/,
];

/** @param code without what stands in its texts */
export function unknownCalls(source: string, code: string): readonly string[] {
  const looking = byName.exec(source);
  if (!computed.test(code) && looking === null) return [];
  const own = new Set(ownFunctions(code));
  for (const [name] of (looking?.[1] ?? "").matchAll(/[A-Za-z$][\w$]*/g)) if (!methods.has(name)) own.delete(name);
  const isKnown = (name: string): boolean => globals.has(name) || own.has(name);
  const found = new Map<string, number>();
  const odd = (name: string, at: number): void => void (found.has(name) || found.set(name, at));
  for (const { 1: point, 2: name = "", index } of code.matchAll(
    /(\.\s*)?(?<![\w$])([A-Za-z_$][\w$]*)\s*(?:\?\.\s*)?[(`]/g,
  ))
    if (
      point === undefined
        ? !keywords.has(name) && !isKnown(name) && !isDefinedHere(code, index)
        : !methods.has(name) && !own.has(name)
    )
      odd(name, index);
  for (const { what, at } of calledLater(code)) {
    if (found.size >= mostReasons) break;
    const [, , last = ""] = /^([\w$]+\s*\.\s*)*([\w$]+)$/.exec(what) ?? [];
    const isName =
      what === last ? isKnown(last) || /^(?:null|undefined|\d+)$/.test(last) : methods.has(last) || own.has(last);
    if (!isName && !/^(?:(["'`])[^"'`]*\1|\[[^\][]*\])$/.test(what)) odd(what, at);
  }
  for (const { 1: name = "", index } of code.matchAll(/(?<![\w$])extends\s+([^\s{]+)/g))
    if (!isKnown(name)) odd(name, index);
  for (const way of otherWays) {
    const match = way.exec(code);
    if (match !== null) odd(match[0].trim(), match.index);
  }
  return [...found]
    .slice(0, mostReasons)
    .map(
      ([name, at]) =>
        `${lineAt(code, at)}: names a member when it runs, and calls \`${name.slice(0, 40)}\`, which is not known`,
    );
}

/** Functions, classes and methods of the code; not what is bound anew, for nobody knows to what. */
function ownFunctions(code: string): ReadonlySet<string> {
  const bound = new Set<string>();
  const patterns = [
    /\(((?:[^()]|\([^()]*\))*)\)\s*(?::[^=;{}()]{1,200})?=>/g,
    /(?<![\w$])([A-Za-z_$][\w$]*)\s*=>/g,
    /(?<![\w$])function\s*\*?\s*[\w$]*\s*\(((?:[^()]|\([^()]*\))*)\)/g,
    /(?<![\w$])(?:const|let|var)\s*([[{][^=;]{0,500}[\]}])\s*(?:=|of\b|in\b)/g,
    /(?<![\w$])(?:catch\s*\(|(?:const|let|var)\s+)\s*([\w$]+)\s*(?:\)|of\b|in\b)/g,
    /(?<![\w$.])([A-Za-z_$][\w$]*)\s*(?:\|\||&&|\?\?)?=(?![=>])(?!\s*(?:async\s*)?(?:function\b|\((?:[^()]|\([^()]*\))*\)\s*(?::[^=;{}()]{1,200})?=>|[\w$]+\s*=>))/g,
  ];
  for (const pattern of patterns)
    for (const { 1: inside = "" } of code.matchAll(pattern))
      for (const [name] of inside.matchAll(/[A-Za-z_$][\w$]*/g)) bound.add(name);
  const defined = [
    /(?<![\w$.])(?:function\s*\*?|class)\s+([A-Za-z_$][\w$]*)/g,
    /(?<![\w$])(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*(?::[^=;]{1,200})?=\s*(?:async\s*)?(?:function\b|\((?:[^()]|\([^()]*\))*\)\s*(?::[^=;{}()]{1,200})?=>|[\w$]+\s*=>)/g,
    /[{},;]\s*(?:static\s+|async\s+|get\s+|\*\s*)*([A-Za-z_$][\w$]*)\s*\((?:[^()]|\([^()]*\))*\)[ \t]*(?::[^;{}()]{1,200})?[ \t]*\{/g,
    /[{,]\s*([A-Za-z_$][\w$]*)\s*:\s*(?:async\s*)?(?:function\b|\((?:[^()]|\([^()]*\))*\)\s*=>|[\w$]+\s*=>)/g,
    /(?<![\w$])import\s+(?:type\s+)?([^"';]{0,1000}?)\s+from\b/g,
  ];
  const own = new Set<string>();
  for (const pattern of defined)
    for (const { 1: inside = "" } of code.matchAll(pattern))
      for (const [name] of inside.matchAll(/[A-Za-z_$][\w$]*/g)) if (!bound.has(name)) own.add(name);
  return own;
}

/** A method where it is written down: what follows its parameters is its body. */
function isDefinedHere(code: string, at: number): boolean {
  return /^[\w$]+\s*\((?:[^()]|\([^()]*\))*\)[ \t]*(?::[^;{}()]{1,200})?[ \t]*\{/.test(code.slice(at, at + 400));
}

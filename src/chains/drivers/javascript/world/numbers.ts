/** `Intl.NumberFormat` in English: decimal, percent, currency, compact. */
import { type Locale, localeOf, onlyKnown } from "./locale.ts";

interface Options {
  readonly style?: "decimal" | "percent" | "currency";
  readonly currency?: string;
  readonly currencyDisplay?: "symbol" | "narrowSymbol" | "code";
  readonly notation?: "standard" | "compact";
  readonly compactDisplay?: "short" | "long";
  readonly useGrouping?: boolean | "always" | "auto" | "min2" | "true" | "false";
  readonly signDisplay?: "auto" | "always" | "never" | "exceptZero";
  readonly minimumIntegerDigits?: number;
  readonly minimumFractionDigits?: number;
  readonly maximumFractionDigits?: number;
  readonly minimumSignificantDigits?: number;
  readonly maximumSignificantDigits?: number;
}

const known: ReadonlySet<string> = new Set(
  "style currency currencyDisplay notation compactDisplay useGrouping signDisplay minimumIntegerDigits minimumFractionDigits maximumFractionDigits minimumSignificantDigits maximumSignificantDigits".split(
    " ",
  ),
);
const symbols: ReadonlyMap<string, string> = new Map(
  Object.entries({
    USD: "$",
    EUR: "€",
    GBP: "£",
    JPY: "¥",
    INR: "₹",
    CNY: "CN¥",
    KRW: "₩",
    BRL: "R$",
    CAD: "CA$",
    AUD: "A$",
    MXN: "MX$",
    NZD: "NZ$",
    HKD: "HK$",
    ILS: "₪",
    VND: "₫",
    TWD: "NT$",
    PHP: "₱",
  }),
);
const british: ReadonlyMap<string, string> = new Map([
  ["USD", "US$"],
  ["JPY", "JP¥"],
]);
const withoutCents: ReadonlySet<string> = new Set(["JPY", "KRW", "VND", "CLP", "ISK", "UGX"]);
const steps = [
  [15, "T", "trillion"],
  [12, "T", "trillion"],
  [9, "B", "billion"],
  [6, "M", "million"],
  [3, "K", "thousand"],
] as const;

export class NumberFormat {
  readonly #locale: Locale;
  readonly #options: Options;
  readonly #least: number;
  readonly #most: number;
  readonly format: (value: unknown) => string;

  constructor(locales?: unknown, options: Options = {}) {
    this.#locale = localeOf(locales);
    onlyKnown(options, known, "a number's format");
    const { style = "decimal", currency, minimumFractionDigits: least, maximumFractionDigits: most } = options;
    if (!["decimal", "percent", "currency"].includes(style))
      throw new RangeError(`The style \`${style}\` is not here.`);
    if (style === "currency" && currency === undefined) throw new TypeError("A currency's format needs `currency`.");
    for (const digits of [least, most])
      if (digits !== undefined && !(digits >= 0 && digits <= 100))
        throw new RangeError("Fraction digits are 0 to 100.");
    const usual = style === "currency" ? (withoutCents.has(String(currency).toUpperCase()) ? 0 : 2) : 0;
    const widest = style === "currency" ? usual : style === "percent" ? 0 : 3;
    if (options.notation === "compact" && (this.#locale !== "en-US" || options.minimumIntegerDigits !== undefined))
      throw new RangeError("Compact numbers are here in en-US only, and without `minimumIntegerDigits`.");
    this.#options = options;
    this.#least = least ?? Math.min(usual, most ?? usual);
    this.#most = most ?? Math.max(widest, this.#least);
    if (this.#least > this.#most) throw new RangeError("`minimumFractionDigits` is above `maximumFractionDigits`.");
    this.format = (value) => this.#written(value);
  }

  resolvedOptions(): object {
    return {
      locale: this.#locale,
      numberingSystem: "latn",
      ...this.#options,
      minimumFractionDigits: this.#least,
      maximumFractionDigits: this.#most,
    };
  }

  #written(value: unknown): string {
    const { style, signDisplay = "auto" } = this.#options;
    const number = typeof value === "bigint" ? value : Number(value);
    const isNegative = number < 0 || Object.is(number, -0);
    const digits = style === "percent" ? shifted(plainOf(number), 2) : plainOf(number);
    const body = Number.isNaN(number)
      ? "NaN"
      : number === Infinity || number === -Infinity
        ? "∞"
        : this.#digits(digits);
    const isZero = !/[1-9∞N]/.test(body);
    const always = signDisplay === "always" || (signDisplay === "exceptZero" && !isZero && !Number.isNaN(number));
    const minus = isNegative && signDisplay !== "never" && !(signDisplay === "exceptZero" && isZero);
    return `${minus ? "-" : always ? "+" : ""}${this.#dressed(body)}`;
  }

  #dressed(body: string): string {
    const { style, currency = "", currencyDisplay } = this.#options;
    if (style === "percent") return `${body}%`;
    if (style !== "currency") return body;
    const code = currency.toUpperCase();
    const abroad = this.#locale === "en-GB" && currencyDisplay !== "narrowSymbol" ? british.get(code) : undefined;
    const own = abroad ?? symbols.get(code);
    const narrow = currencyDisplay === "narrowSymbol" ? own?.replace(/^[A-Z]+(?=\W)/, "") : own;
    return currencyDisplay === "code" || narrow === undefined
      ? `${code}${/\d/.test(body) ? "\u00a0" : ""}${body}`
      : `${narrow}${body}`;
  }

  #digits(text: string): string {
    const { notation, style } = this.#options;
    const compactDisplay = style === "currency" ? "short" : this.#options.compactDisplay;
    if (notation !== "compact") return this.#grouped(this.#rounded(text));
    for (const [zeros, short, long] of steps) {
      if (zeros === 15 || integerOf(text).length <= zeros) continue;
      const scaled = compactRounded(shifted(text, -zeros), this.#options);
      const next = steps.find(([more]) => more === zeros + 3);
      const [amount, name] =
        scaled === "1000" && next !== undefined && zeros < 12 ? ["1", next] : [scaled, [zeros, short, long] as const];
      return `${this.#grouped(amount, true)}${compactDisplay === "long" ? ` ${name[2]}` : name[1]}`;
    }
    const rounded = compactRounded(text, this.#options);
    return rounded === "1000" ? `1${compactDisplay === "long" ? " thousand" : "K"}` : rounded;
  }

  #rounded(text: string): string {
    const { minimumSignificantDigits: least, maximumSignificantDigits: most } = this.#options;
    if (least !== undefined || most !== undefined) return significant(text, least ?? 1, most ?? 21);
    return padded(roundedTo(text, this.#most), this.#least);
  }

  #grouped(text: string, isCompact = false): string {
    const { useGrouping = true, minimumIntegerDigits = 1 } = this.#options;
    const [given = "0", fraction] = text.split(".");
    const whole = given.padStart(minimumIntegerDigits, "0");
    const isOff =
      useGrouping === false || useGrouping === "false" || ((useGrouping === "min2" || isCompact) && whole.length < 5);
    const parts = isOff ? whole : whole.replace(/\B(?=(?:\d{3})+$)/g, ",");
    return fraction === undefined ? parts : `${parts}.${fraction}`;
  }
}

/** The number's digits without sign and exponent, as short as they are exact. */
function plainOf(value: number | bigint): string {
  const text = String(value).replace(/^-/, "");
  const [, whole = "0", fraction = "", exponent = "0"] = /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(text) ?? [];
  return shifted(fraction === "" ? whole : `${whole}.${fraction}`, Number(exponent));
}

function integerOf(text: string): string {
  return (text.split(".")[0] ?? "0").replace(/^0+(?=\d)/, "");
}

/** The point moved by so many places. */
function shifted(text: string, places: number): string {
  const [whole = "0", fraction = ""] = text.split(".");
  const digits = whole + fraction;
  const at = whole.length + places;
  const left = at > 0 ? digits.slice(0, at).padEnd(at, "0") : "0";
  const right = at < 0 ? "0".repeat(-at) + digits : digits.slice(at);
  const clean = left.replace(/^0+(?=\d)/, "");
  return right === "" ? clean : `${clean}.${right}`;
}

/** Half away from zero, on the digits themselves. */
function roundedTo(text: string, places: number): string {
  const [whole = "0", fraction = ""] = text.split(".");
  if (fraction.length <= places) return trimmed(text);
  const up = (fraction[places] ?? "0") >= "5" ? 1n : 0n;
  const digits = String(BigInt(whole + fraction.slice(0, places)) + up).padStart(places + 1, "0");
  return trimmed(places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`);
}

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function padded(text: string, least: number): string {
  const [whole = "0", fraction = ""] = text.split(".");
  return least === 0 && fraction === "" ? whole : `${whole}.${fraction.padEnd(least, "0")}`;
}

function significant(text: string, least: number, most: number): string {
  const leading = /^0\.(0*)/.exec(text)?.[1]?.length;
  const size = leading === undefined ? integerOf(text).length : -leading;
  const places = most - size;
  const rounded = places >= 0 ? roundedTo(text, places) : shifted(roundedTo(shifted(text, places), 0), -places);
  const has = rounded.replace(".", "").replace(/^0+/, "").length;
  const fraction = rounded.split(".")[1]?.length ?? 0;
  return has >= least ? rounded : padded(rounded, fraction + least - Math.max(1, has));
}

/** Two digits that count, and no fraction from ten up. */
function compactRounded(
  text: string,
  { minimumFractionDigits: least, maximumFractionDigits: most, ...more }: Options,
): string {
  const { minimumSignificantDigits: fewest, maximumSignificantDigits: widest } = more;
  if (fewest !== undefined || widest !== undefined) return significant(text, fewest ?? 1, widest ?? 21);
  const usual = more.style === "percent" ? 0 : 3;
  if (least !== undefined || most !== undefined)
    return padded(roundedTo(text, most ?? Math.max(usual, least ?? 0)), least ?? 0);
  return integerOf(text).length >= 2 ? roundedTo(text, 0) : significant(text, 1, 2);
}

import { Collator, ListFormat, PluralRules } from "./collation.ts";
import { DateTimeFormat } from "./dates.ts";
import { give } from "./give.ts";
import { NumberFormat } from "./numbers.ts";

give("Intl", { Collator, DateTimeFormat, ListFormat, NumberFormat, PluralRules });

const date = (means: "date" | "time" | "all") =>
  function (this: Date, locales?: unknown, options?: ConstructorParameters<typeof DateTimeFormat>[1]): string {
    return Number.isNaN(this.getTime()) ? "Invalid Date" : new DateTimeFormat(locales, options, means).format(this);
  };

give("toLocaleDateString", date("date"), Date.prototype);
give("toLocaleTimeString", date("time"), Date.prototype);
give("toLocaleString", date("all"), Date.prototype);
for (const kind of [Number, BigInt])
  give(
    "toLocaleString",
    function (
      this: number | bigint,
      locales?: unknown,
      options?: ConstructorParameters<typeof NumberFormat>[1],
    ): string {
      return new NumberFormat(locales, options).format(this.valueOf());
    },
    kind.prototype,
  );
give(
  "localeCompare",
  // biome-ignore lint/complexity/useMaxParams: three, and what it is called on
  function (
    this: string,
    other: unknown,
    locales?: unknown,
    options?: ConstructorParameters<typeof Collator>[1],
  ): number {
    return new Collator(locales, options).compare(this, other);
  },
  String.prototype,
);

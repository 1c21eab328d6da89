import { type Metric, Registry } from "prom-client";
import { families, type MetricFamily } from "./families.ts";
import type { Scrape } from "./metrics.ts";

/** A scrape in the text format of Prometheus. */
export function render(scrape: Scrape): Promise<string> {
  const registry = new Registry();
  for (const [name, family] of Object.entries(families)) registry.registerMetric(metricOf(name, family, scrape));
  return registry.metrics();
}

/** The samples are counted elsewhere, so that a call needs no prom-client: of a metric, the registry uses only this. */
function metricOf(name: string, { type, help, read }: MetricFamily, scrape: Scrape): Metric {
  const get = async (): Promise<object> => {
    const values = read(scrape).map(({ suffix = "", labels, value }) => ({ metricName: name + suffix, labels, value }));
    return { name, help, type, values };
  };
  return { name, get } as unknown as Metric;
}

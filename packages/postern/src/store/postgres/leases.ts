import type { Leases } from "../store.ts";
import type { Opening } from "./opening.ts";
import type { RunQuery } from "./read-known.ts";
import { toStored } from "./text.ts";

/** Leases by the time of the database: one statement takes, renews or is refused. */
export function leasesIn({ incarnation }: Opening, run: RunQuery): Leases {
  return {
    take: async (name, forMs) => {
      const text = `insert into lease (name, holder, lease_until)
          values ($1, $2, clock_timestamp() + make_interval(secs => $3))
        on conflict (name) do update set holder = excluded.holder, lease_until = excluded.lease_until
          where lease.holder = excluded.holder or lease.lease_until <= clock_timestamp()
        returning name`;
      return (await run({ name: "take lease", text, values: [toStored(name), incarnation, forMs / 1000] })).length > 0;
    },
    release: async (name) => {
      const text = "delete from lease where name = $1 and holder = $2";
      await run({ name: "release lease", text, values: [toStored(name), incarnation] });
    },
  };
}

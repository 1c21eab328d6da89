import { existsSync } from "node:fs";
import type { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { driverOf, podLimits } from "../../../../../test/fakes/cluster-driver.ts";
import { FakeCluster, frameOf } from "../../../../../test/fakes/fake-cluster.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { driven } from "../../../../core/src/testing/driven.ts";

const text = (said: string): Buffer => frameOf(Buffer.concat([Buffer.of(1), Buffer.from(said)]));

it.each<[string, (cluster: FakeCluster) => void, RegExp]>([
  [
    "refuses to make a pod",
    (c) => {
      c.answers = (asked) => (asked.startsWith("POST") ? [403, { message: "quota" }] : undefined);
    },
    /403: quota/,
  ],
  [
    "has such a pod already",
    (c) => {
      c.answers = (asked) => (asked.startsWith("POST") ? [409, { message: "exists" }] : undefined);
    },
    /409/,
  ],
  [
    "fails",
    (c) => {
      c.answers = (asked) => (asked.startsWith("POST") ? [500, "not json"] : undefined);
    },
    /500/,
  ],
  [
    "forgets the pod",
    (c) => {
      c.answers = (asked) => (/^GET .*\/pods\/p/.test(asked) ? [404, {}] : undefined);
    },
    /404/,
  ],
  [
    "answers with no JSON object",
    (c) => {
      c.answers = (asked) => (asked.startsWith("POST") ? [201, "[1]"] : undefined);
    },
    /201/,
  ],
  [
    "cannot pull the image",
    (c) => {
      c.status = () => ({ phase: "Pending", containerStatuses: [{ state: { waiting: { reason: "ErrImagePull" } } }] });
    },
    /ErrImagePull/,
  ],
  [
    "evicts the pod",
    (c) => {
      c.status = () => ({ phase: "Failed", reason: "Evicted" });
    },
    /Evicted/,
  ],
  [
    "never starts the pod",
    (c) => {
      c.status = () => ({ phase: "Pending" });
    },
    /did not start within 1500 ms \(Pending\)/,
  ],
  [
    "adds a container",
    (c) => {
      c.admits = ({ spec }) => ({ spec: { ...spec, containers: [...spec.containers, { name: "proxy" }] } });
    },
    /another container/,
  ],
  [
    "mounts a token",
    (c) => {
      c.admits = ({ spec }) => ({ spec: { ...spec, volumes: [{ projected: {} }] } });
    },
    /volume of the cluster/,
  ],
  [
    "drops the RuntimeClass",
    (c) => {
      c.admits = ({ spec }) => ({ spec: { ...spec, runtimeClassName: undefined } });
    },
    /RuntimeClass/,
  ],
  [
    "opens the host's network",
    (c) => {
      c.admits = ({ spec }) => ({ spec: { ...spec, hostNetwork: true } });
    },
    /hostNetwork/,
  ],
  [
    "refuses to attach",
    (c) => {
      c.answers = (asked) => (asked.startsWith("ATTACH") ? [403, ""] : undefined);
    },
    /attach \(403\)/,
  ],
  [
    "attaches by another protocol",
    (c) => {
      c.protocol = "v1.other";
    },
    /invalid subprotocol/,
  ],
  [
    "hangs up at once",
    (c) => {
      c.attaches = (socket) => socket.end();
    },
    /closed/,
  ],
  [
    "resets the connection",
    (c) => {
      c.attaches = (socket) => socket.destroy();
    },
    /closed|failed/,
  ],
  [
    "attaches and says nothing",
    (c) => {
      c.attaches = () => undefined;
    },
    /not ready within 1500 ms/,
  ],
  [
    "masks its frames",
    (c) => {
      c.attaches = (socket) => {
        socket.write(Buffer.of(0x82, 0x81, 1, 2, 3, 4, 5));
      };
    },
    /MASK must be clear/,
  ],
  [
    "sets a reserved bit",
    (c) => {
      c.attaches = (socket) => {
        socket.write(Buffer.of(0xc2, 1, 1));
      };
    },
    /RSV1 must be clear/,
  ],
  [
    "claims an endless frame",
    (c) => {
      c.attaches = (socket) => {
        socket.write(Buffer.of(0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255));
      };
    },
    /payload length > 2\^53 - 1/,
  ],
  [
    "sends an endless ping",
    (c) => {
      c.attaches = (socket) => {
        socket.write(Buffer.of(0x89, 126, 255, 255));
      };
    },
    /invalid payload length/,
  ],
  [
    "continues with what was not started",
    (c) => {
      c.attaches = (socket) => {
        socket.write(Buffer.of(0x80, 1, 1));
      };
    },
    /invalid opcode 0/,
  ],
  [
    "says no frame of ours",
    (c) => {
      c.attaches = (socket) => {
        socket.write(text("GET / HTTP/1.1\r\n\r\n"));
      };
    },
    /larger than|not JSON/,
  ],
  [
    "ends the container",
    (c) => {
      c.attaches = (socket) => {
        socket.write(frameOf(Buffer.from('\u0003{"status":"Success"}')));
      };
    },
    /ended/,
  ],
  [
    "closes politely",
    (c) => {
      c.attaches = (socket) => {
        socket.write(frameOf(Buffer.of(3, 0xe8), 0x88));
      };
    },
    /closed by the other side \(1000\)/,
  ],
])("a cluster that %s gives no sandbox, and keeps no pod", async (_, hostile, why) => {
  await using cluster = await FakeCluster.open();
  hostile(cluster);
  await using driver = driverOf(cluster, { startMs: 1_500 });
  await expect(driven(driver, "1", podLimits)).rejects.toThrow(why);
  await driver[Symbol.asyncDispose]();
  expect(cluster.pods.size).toBe(0);
});

it("ends a pod that floods and keeps nothing of it", async () => {
  await using cluster = await FakeCluster.open();
  let isOpen = true;
  cluster.attaches = (socket: Duplex) => {
    const flood = frameOf(Buffer.concat([Buffer.of(1), Buffer.alloc(1 << 20, 0x20)]));
    for (const over of ["end", "close"])
      socket.on(over, () => {
        isOpen = false;
      });
    socket.write(frameOf(Buffer.concat([Buffer.of(1), Buffer.of(0, 0x10, 0, 0)]))); // a frame of a mebibyte, of blanks
    socket.write(flood);
    socket.resume();
  };
  await using driver = driverOf(cluster, { startMs: 3_000 });
  await expect(driven(driver, "1", podLimits)).rejects.toThrow(/not JSON/);
  await expect.poll(() => isOpen).toBe(false);
});

it.skipIf(!existsSync("/usr/bin/python3"))("detects a half-open connection", async () => {
  await using cluster = await FakeCluster.open();
  const clock = new FakeClock();
  await using driver = driverOf(cluster, { clock });
  const program = { language: "python", source: "import time\ntime.sleep(100)", tools: [], chainId: "c" } as const;
  await using session = await driver.start(program, { ...podLimits, wallMs: 1_000_000 });
  const end = session.next();
  cluster.freeze();
  for (let beats = 0; beats < 4; beats += 1) await clock.advance(20_000);
  expect(await end).toMatchObject({ step: "failed", why: "crash", message: "The connection to the pod is dead." });
});

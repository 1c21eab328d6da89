import { setImmediate } from "node:timers/promises";

/** About a millisecond of hashing. */
const stride = 256;

/** The same items, with a turn of the event loop now and then: reading a long log must not keep calls waiting. */
export async function* unhurried<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  let left = stride;
  for await (const item of items) {
    yield item;
    left -= 1;
    if (left > 0) continue;
    left = stride;
    await setImmediate();
  }
}

import { fdatasync, fsync, ftruncate, read, rename, write } from "node:fs";
import { promisify } from "node:util";

/** The disk operations, off the event loop. A test can pass a full disk. */
export interface Disk {
  write(descriptor: number, bytes: Uint8Array): Promise<number>;
  sync(descriptor: number): Promise<void>;
  syncData(descriptor: number): Promise<void>;
  truncate(descriptor: number, bytes: number): Promise<void>;
  rename(from: string, to: string): Promise<void>;
}

const writeSome = promisify(write);
const readSome = promisify(read);

export const realDisk: Disk = {
  write: async (descriptor, bytes) => (await writeSome(descriptor, bytes)).bytesWritten,
  sync: promisify(fsync),
  syncData: promisify(fdatasync),
  truncate: promisify(ftruncate),
  rename: promisify(rename),
};

export async function writeAll(disk: Disk, descriptor: number, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) done += await disk.write(descriptor, bytes.subarray(done));
}

/** Reads `length` bytes from `position` on; fewer only at the end of the file. */
export async function readFrom(descriptor: number, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await readSome(descriptor, buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

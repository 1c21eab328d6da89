/** The command that the guest's init (deploy/guest/init) runs behind its connection, which is its standard input and output: it reads a program and runs it. */
export const guestLoader: string = `python3 -I -S -B -X utf8 -c 'import os
def take(n):
    data = b""
    while len(data) < n:
        part = os.read(0, n - len(data))
        if not part:
            os._exit(0)
        data += part
    return data
exec(take(int.from_bytes(take(4), "big")).decode())'`;

/** The program in the form that `guestLoader` reads. */
export function loaded(program: string): Buffer {
  const bytes = Buffer.from(program);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** The end of the pipe in Pyodide: the process around it speaks for it. Python 3.11 and newer. */
export const pyodideEndSource: string = `def serve(start, ask):
    def exchange(frame):
        return from_json(ask(to_json(frame)))

    return to_json(run(from_json(start), exchange, False))


import os

os.makedirs("/workspace", exist_ok=True)
os.chdir("/workspace")
import bisect, collections, copy, csv, decimal, difflib, fractions, functools, hashlib, heapq, html, itertools, logging, operator, random, statistics, string, textwrap, typing, urllib.parse, uuid
`;

# The pipe of Pyodide: the process around it exchanges the frames. Python 3.11 and newer.
def serve(start, ask):
    def exchange(frame):
        return from_json(ask(to_json(frame)))

    return to_json(run(from_json(start), exchange, False))


import os

os.makedirs("/workspace", exist_ok=True)
os.chdir("/workspace")
# Loaded before a script needs them: the first import of each is slow here.
import bisect, collections, copy, csv, decimal, difflib, fractions, functools, hashlib, heapq, html, itertools
import logging, operator, random, statistics, string, textwrap, typing, urllib.parse, uuid

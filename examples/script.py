# postern chain run examples/script.py
# Independent calls run together; a result is passed on without the model reading it.
import asyncio

now, total = await asyncio.gather(tools.clock_now(), tools.everything.get_sum(a=20, b=22))
{"at": now.text, "total": total.text}

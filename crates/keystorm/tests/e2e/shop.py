"""An application that keeps sessions, stock and orders in Redis, for a few seconds: shop.py PORT."""

import sys
import threading
import time

import redis

SECONDS = 3.2
TAKE = """
local left = tonumber(redis.call('HGET', KEYS[1], 'left') or ARGV[1])
if left <= 0 then return 0 end
redis.call('HSET', KEYS[1], 'left', left - 1)
return left
"""


def visit(client, take, customer, until):
    """A customer who looks around, buys, and comes back."""
    turn = 0
    while time.monotonic() < until:
        turn += 1
        session = f"session:{customer}:{turn % 5}"
        with client.pipeline(transaction=True) as pipe:
            pipe.hset(session, mapping={"page": turn, "seen": "x" * 200})
            pipe.expire(session, 600)
            pipe.execute()
        client.hgetall(session)
        with client.pipeline(transaction=False) as pipe:
            for item in range(4):
                pipe.get(f"item:{(turn * 7 + item) % 50}")
            pipe.incr("visits")
            pipe.execute()
        take(keys=[f"stock:{turn % 10}"], args=[1000])
        client.lpush("orders", f"{customer}/{turn}")
        time.sleep(0.004)


def deliver(client):
    """The worker that waits for orders."""
    while client.brpop("orders", timeout=30)[1] != b"closed":
        client.incr("delivered")


def main():
    client = redis.Redis(port=int(sys.argv[1]))
    client.mset({f"item:{item}": "an item" for item in range(50)})
    take = client.register_script(TAKE)
    # The server does not know it yet: here one client is told so, and not some of those that come at once.
    take(keys=["stock:0"], args=[1000])
    until = time.monotonic() + SECONDS
    threads = [threading.Thread(target=visit, args=(client, take, n, until)) for n in range(3)]
    worker = threading.Thread(target=deliver, args=(client,))
    for thread in [worker, *threads]:
        thread.start()
    for thread in threads:
        thread.join()
    client.lpush("orders", "closed")
    worker.join()


main()

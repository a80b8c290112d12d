"""pyzmq in the user's form: fresh payloads, one `send` per message, one `recv` per message, the same body as ours.

`python -m ringcast.bench.zmq_user '{…}'`. Blocking sockets in one thread, or `zmq.asyncio` with a sending and a reading
task, which is the form that an asyncio program has. A sender's own copies do not travel: its body takes each message
when it was sent, which is cheaper than reading it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

import zmq
import zmq.asyncio

from ringcast.bench.user_body import AT_ONCE, Body, Numbers, cpu_seconds, end_of, sender_in
from ringcast.bench.zmq_member import Role, publisher_socket, subscriber_socket


def receive(socket: zmq.Socket[bytes], body: Body) -> None:
    size, messages, look, receive = body.size, 0, body.next_look, socket.recv
    while True:
        payload = receive()
        if len(payload) == size:
            messages += 1
            if messages == look:
                look = body.look(None, payload, messages)
        elif body.take_odd(payload):
            break
    body.messages = messages


def send(socket: zmq.Socket[bytes], body: Body, seconds: float) -> int:
    numbers, sent, until, look = Numbers.of(body.size), 0, time.monotonic() + seconds, body.next_look
    most, head, padding, size, send = numbers.most, numbers.head, numbers.padding, body.size, socket.send
    while time.monotonic() < until:
        for number in range(sent, sent + AT_ONCE):
            payload = (number % most).to_bytes(head, "little") + padding
            send(payload)
            if len(payload) == size and number + 1 == look:
                look = body.look(None, payload, number + 1)
        sent += AT_ONCE
    socket.send(end_of(sent, size))
    body.messages = sent
    body.take_odd(end_of(sent, size))
    return sent


async def receive_async(socket: zmq.asyncio.Socket, body: Body) -> None:
    size, messages, look = body.size, 0, body.next_look
    while True:
        payload = await socket.recv()
        if len(payload) == size:
            messages += 1
            if messages == look:
                look = body.look(sender_in(payload), payload, messages)
        elif body.take_odd(payload):
            break
    body.messages = messages


async def send_async(socket: zmq.asyncio.Socket, body: Body, seconds: float, sender: int) -> int:
    numbers, sent, until, look = Numbers.of(body.size, sender), 0, time.monotonic() + seconds, body.next_look
    most, head, padding, size = numbers.most, numbers.head, numbers.padding, body.size
    while time.monotonic() < until:
        for number in range(sent, sent + AT_ONCE):
            payload = (number % most).to_bytes(head, "little") + padding
            await socket.send(payload)
            if len(payload) == size and number + 1 == look:
                look = body.look(None, payload, number + 1)
        sent += AT_ONCE
    await socket.send(end_of(sent, size))
    body.messages = sent
    body.take_odd(end_of(sent, size))
    return sent


async def run_tasks(role: Role, publisher: zmq.Socket[bytes] | None, subscriber: zmq.Socket[bytes], body: Body) -> int:
    """Both at once, each in its task."""
    own, sent, reading = Body(role.size, 1), 0, None
    if role.receives:
        reading = asyncio.create_task(receive_async(zmq.asyncio.Socket.from_socket(subscriber), body))
    if publisher is not None:
        sent = await send_async(zmq.asyncio.Socket.from_socket(publisher), own, role.seconds, role.number)
    if reading is not None:
        await reading
    return sent


def run(role: Role) -> None:
    context = zmq.Context()
    publisher = None if role.publishes_at is None else publisher_socket(context, role)
    bound = None if publisher is None else publisher.getsockopt(zmq.LAST_ENDPOINT)
    print(json.dumps(bound.decode().rstrip("\0") if isinstance(bound, bytes) else None), flush=True)
    others: list[str] = json.loads(sys.stdin.readline())
    subscriber = subscriber_socket(context, role, others)
    body, sent = Body(role.size, len(others)), 0
    if publisher is not None:
        for _ in range(role.subscribers):
            publisher.recv()
    before = cpu_seconds()
    if role.form == "user asyncio":
        sent = asyncio.run(run_tasks(role, publisher, subscriber, body))
    elif publisher is not None:
        sent = send(publisher, Body(role.size, 1), role.seconds)
    else:
        receive(subscriber, body)
    seen = {"sent": sent, "received": body.messages, "expected": body.expected + body.wrong}
    spent = {"first_ns": body.first_ns, "last_ns": body.last_ns, "cpu_seconds": cpu_seconds() - before}
    print(json.dumps({**seen, **spent}), flush=True)
    sys.stdin.readline()  # what is still in our queue must leave before we do
    context.destroy(linger=0)


if __name__ == "__main__":
    run(Role(**json.loads(sys.argv[1])))

"""A keyed work queue: any process submits, one at a time works on a key, and if it dies another takes over.

python examples/work_queue.py ann tea milk    submit two jobs, and work until everything is done
"""

import asyncio
import sys

import ringcast
from ringcast import blocks

todo = blocks.ReplicatedDict("todo", str, str)
done = blocks.ReplicatedDict("done", str, str)
locks = blocks.Locks("locks")


async def work(me: str, key: str) -> None:
    async with locks(key) as held:
        if key in todo:
            await done.set(key, f"{todo[key]} by {me}", token=held.token)  # Refused if another has got the lock since.
            await todo.delete(key, token=held.token)


async def tell(news: blocks.Channel) -> None:
    async for event in news:
        if isinstance(event, ringcast.Message):
            print(event.payload.decode(), file=sys.stderr)


async def main(me: str, *jobs: str) -> None:
    place = ringcast.DirectoryDiscovery("/tmp/ringcast-jobs")
    async with blocks.join("jobs", todo, done, locks, name=me, discovery=place) as group:
        telling = asyncio.create_task(tell(news := group.channel("news")))
        await todo.update({job: f"make {job}" for job in jobs})
        await news.send(f"{me} brings {', '.join(jobs) or 'no jobs'}".encode())
        while todo:
            await asyncio.gather(*map(work, [me] * len(todo), list(todo)), return_exceptions=True)
        print(dict(sorted(done.items())))
    await telling


asyncio.run(main(*sys.argv[1:]))

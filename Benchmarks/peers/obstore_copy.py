#!/usr/bin/env python3
"""Many objects by obstore's own concurrency, 50 at a time.

usage: obstore_copy.py URL up|down PREFIX FOLDER
"""
import asyncio
import os
import pathlib
import sys

from obstore.store import S3Store

url, verb, prefix, folder = sys.argv[1:]
store = S3Store("bkt", endpoint=url, access_key_id=os.environ["AWS_ACCESS_KEY_ID"],
                secret_access_key=os.environ["AWS_SECRET_ACCESS_KEY"], region="us-east-1",
                virtual_hosted_style_request=False, client_options={"allow_http": True})
folder = pathlib.Path(folder)


async def main():
    gate = asyncio.Semaphore(50)

    async def up(path):
        async with gate:
            await store.put_async(f"{prefix}/{path.name}", path)

    async def down(key):
        async with gate:
            (folder / key.rsplit("/", 1)[1]).write_bytes(bytes(await (await store.get_async(key)).bytes_async()))

    if verb == "up":
        await asyncio.gather(*(up(path) for path in folder.iterdir()))
    else:
        await asyncio.gather(*(down(item["path"]) for page in store.list(prefix + "/") for item in page))


asyncio.run(main())
os._exit(0)  # its threads sometimes abort a Python that ends beside them

#!/usr/bin/env python3
"""Pictures of `gaussmith design measure --pictures` beside each other: a row a folder, a column a number of measurements, the truth last.

    reproduce/picture_columns.py pictures --at 100 400 700 --output docs/design_camera.png
"""

import argparse
import pathlib
import struct
import zlib

WHITE = 255
GAP = 8


def read_png(path):
    """Lines of grey, of files whose lines have no filter, as the tool writes them."""
    content = path.read_bytes()
    at, packed, width, height = 8, b"", 0, 0
    while at < len(content):
        length, kind = struct.unpack(">I4s", content[at:at + 8])
        body = content[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height = struct.unpack(">II", body[:8])
        if kind == b"IDAT":
            packed += body
        at += 12 + length
    lines = zlib.decompress(packed)
    if len(lines) != height * (width + 1) or any(lines[::width + 1]):
        raise SystemExit(f"{path}: not an 8-bit grey picture without filters")
    return [lines[i * (width + 1) + 1:(i + 1) * (width + 1)] for i in range(height)]


def format_png(lines):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", len(lines[0]), len(lines), 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + line for line in lines), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def enlarged(lines, times):
    return [bytes(grey for grey in line for _ in range(times)) for line in lines for _ in range(times)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--at", nargs="+", type=int, required=True, help="numbers of measurements")
    parser.add_argument("--times", type=int, default=3, help="pixels for a pixel")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    out = []
    for folder in arguments.folders:
        names = [f"{n:06}.png" for n in arguments.at] + ["truth.png"]
        row = [enlarged(read_png(folder / name), arguments.times) for name in names]
        lines = [bytes([WHITE] * GAP).join(parts) for parts in zip(*row, strict=True)]
        out += ([bytes([WHITE] * len(lines[0]))] * GAP if out else []) + lines
    arguments.output.write_bytes(format_png(out))


if __name__ == "__main__":
    main()

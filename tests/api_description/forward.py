"""Passes connections on a free port of 127.0.0.1 to a unix socket, for clients that cannot speak to one.

forward.py SOCKET FILE: writes its own address to FILE, as a URL.
"""

import os
import socket
import sys
import threading


def copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        # One side has hung up: so does the other.
        for side in (source, target):
            try:
                side.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def forward(client: socket.socket, path: str) -> None:
    with client, socket.socket(socket.AF_UNIX) as daemon:
        daemon.connect(path)
        back = threading.Thread(target=copy, args=(daemon, client), daemon=True)
        back.start()
        copy(client, daemon)
        back.join()


def main() -> None:
    path, file = sys.argv[1:]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        # Renamed into place, so that nobody reads half of it.
        with open(f"{file}.new", "w", encoding="utf-8") as new:
            new.write(f"http://127.0.0.1:{listener.getsockname()[1]}\n")
        os.rename(f"{file}.new", file)
        while True:
            client, _ = listener.accept()
            threading.Thread(target=forward, args=(client, path), daemon=True).start()


if __name__ == "__main__":
    main()

"""The tool server against the official TypeScript clients: of the versions with sessions, and of the one without."""

import node_packages

TOKEN = "a-token-for-this-test"


def main() -> None:
    node_packages.install()
    for script in ("session_client.mjs", "stateless_client.mjs"):
        with node_packages.fixture(TOKEN) as (url, said):
            client = node_packages.node(script, url, TOKEN, seconds=90)
            print(client.stdout, client.stderr, sep="")
            assert client.returncode == 0, f"{script} ended with {client.returncode}"
        assert [line.split()[0] for line in said] == ["cancelled"], f"one call was cancelled, the server says: {said}"
    print("ok")


main()

"""Database servers for the tests, one module per family, each with `running()` that yields a URL.

A server is, in this order: the one named by DUEROW_TEST_<FAMILY>_URL, used as it is; one that starts from what is
installed on the machine; one that `prepare()` installs for the tests alone. Each has a free port of 127.0.0.1 and a
data directory of its own, and ends with the process that started it.

`python -m tests.servers postgresql` starts one by hand and prints its URL.
"""

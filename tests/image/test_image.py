#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the image with the engine at hand, looks into it, and runs it as it
should be run: nothing to write to, no capability, few processes, and with half
a core and 64 MB, of which the daemon has to know.

usage: test_image.py VERSION RELEASE [CHECK]

The base is the slim image of that release of Debian; CHECK goes to the
Dockerfile: what of the tests the build runs.
"""
import concurrent.futures
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

TREE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
VERSION, RELEASE, *CHECK = sys.argv[1:]
NAME = "attentiond-test"
MB = 10 ** 6
LOCKED = ["--pull=never", "--read-only", "--cap-drop=ALL", "--pids-limit=16",
          "--security-opt=no-new-privileges"]
EXAMPLE = {"Q": [[1, 0], [0, 1]], "K": [[1, 0], [0, 1]],
           "V": [[10, 0], [0, 10]], "dtype": "float64"}


def output_of(*command):
    done = subprocess.run(command, cwd=TREE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {done.returncode}\n"
                             f"{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def engine(*words):
    return output_of(ENGINE, *words).strip()


def build(name, *flags):
    started = time.monotonic()
    print(f"\nbuilding {name}: up to some four minutes", flush=True)
    base = ["--build-arg", f"BASE=debian:{RELEASE}-slim"]
    check = [word for c in CHECK for word in ("--build-arg", f"CHECK={c}")]
    output_of("tools/image.sh", name, VERSION, "--network=host", *base, *check,
              *flags)
    print(f"built {name} in {time.monotonic() - started:.0f} s", flush=True)


def ask(port, path, body=None, timeout=60):
    """Status and text of a reply."""
    data = None if body is None else json.dumps(body).encode()
    try:
        url = f"http://127.0.0.1:{port}{path}"
        with urllib.request.urlopen(url, data, timeout) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def wait_until_ready(port, patience=30):
    until = time.monotonic() + patience
    while time.monotonic() < until:
        try:
            if ask(port, "/readyz", timeout=2)[0] == 200:
                return
        except OSError:
            time.sleep(0.005)
    raise AssertionError(f"not ready within {patience} s")


class ImageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        output_of("tests/image/base.sh", ENGINE, RELEASE)
        build(NAME)
        cls.image = json.loads(engine("image", "inspect", NAME))[0]
        cls.root = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.root)
        cls.extract()

    @classmethod
    def extract(cls):
        made = engine("create", "--pull=never", NAME)
        tar = os.path.join(cls.root, "root.tar")
        engine("export", "-o", tar, made)
        engine("rm", made)
        cls.root = os.path.join(cls.root, "root")
        os.mkdir(cls.root)
        output_of("tar", "-C", cls.root, "-xf", tar)

    def files(self, *folders):
        """Files that the image holds, without what the engine puts there."""
        own = ["/dev/", "/proc/", "/sys/", "/run/", "/etc/hosts",
               "/etc/hostname", "/etc/resolv.conf", "/etc/mtab", "/.docker"]
        found = []
        for folder, _, names in os.walk(self.root):
            inside = folder[len(self.root):]
            found += [f"{inside}/{name}" for name in names]
        return [path for path in found if not path.startswith(tuple(own))
                and (not folders or path.startswith(tuple(folders)))]

    def run_locked(self, *flags):
        """Starts a container; its id and its port on this machine."""
        extra = ["--read-only-tmpfs=false"] if ENGINE == "podman" else []
        made = engine("run", "-d", "-p", "127.0.0.1::8080", *LOCKED, *extra,
                      *flags, NAME).split()[-1]
        self.addCleanup(engine, "rm", "-f", made)
        port = int(engine("port", made, "8080/tcp").split(":")[-1])
        wait_until_ready(port)
        return made, port

    def state(self, made):
        return json.loads(engine("inspect", made))[0]["State"]

    def run_small(self):
        return self.run_locked("--cpus=0.5", "--memory=64m",
                               "--memory-swap=64m")

    # ------------------------------------------------------- what is in it

    def test_size_is_below_60_mb(self):
        print(f"{self.image['Size'] / MB:.1f} MB", flush=True)
        self.assertLess(self.image["Size"], 60 * MB)

    def test_building_anew_gives_the_same_layers(self):
        build(NAME + ":again", "--build-arg", "OBJECTS=again")
        again = json.loads(engine("image", "inspect", NAME + ":again"))[0]
        self.assertEqual(again["RootFS"], self.image["RootFS"])

    def test_nothing_but_the_daemon_can_be_started(self):
        loader = [path for path in self.files() if "/ld-linux" in path]
        programs = [path for path in self.files()
                    if os.access(self.root + path, os.X_OK)
                    and "/lib/" not in path]
        self.assertEqual(sorted(programs), sorted(["/attentiond"] + loader))

    def test_libraries_are_those_that_the_loader_names(self):
        loader, = [path for path in self.files() if "/ld-linux" in path]
        listed = engine("run", "--rm", "--pull=never", "--entrypoint", loader,
                        NAME, "--list", "/attentiond")
        named = {word for word in listed.split() if word.startswith("/")}
        self.assertEqual(set(self.files("/lib", "/usr/lib")), named)

    def test_scanners_find_the_package_of_each_library(self):
        papers = self.root + "/var/lib/dpkg/status.d/"
        sums = ""
        for path in glob.glob(papers + "*.md5sums"):
            with open(path, encoding="ascii") as file:
                sums += file.read()
            with open(path[:-len(".md5sums")], encoding="utf-8") as file:
                self.assertRegex(file.read(), r"Package: .*(?s:.*)\nVersion: ")
        for path in self.files("/lib"):
            md5 = output_of("md5sum", self.root + path).split()[0]
            self.assertIn(md5, sums, path)

    def test_papers_are_the_same_on_a_base_without_documents(self):
        build(NAME + ":built", "--target=build")
        engine("run", "--rm", "--pull=never", "--network=host",
               NAME + ":built", "sh", "-ec", """
               cp -a /image /kept
               rm -rf /usr/share/doc
               tools/image_root.sh build/attentiond /image 1700000000
               diff -r /kept /image""")
        for path in glob.glob(self.root + "/usr/share/doc/*/copyright"):
            self.assertGreater(os.path.getsize(path), 100, path)

    def test_image_says_how_to_run_it(self):
        config = self.image["Config"]
        health = self.image.get("Healthcheck") or config.get("Healthcheck")
        self.assertEqual(config["User"], "65532:65532")
        self.assertEqual(config["Entrypoint"], ["/attentiond"])
        self.assertEqual(health["Test"], ["CMD", "/attentiond",
                                          "--healthcheck"])
        self.assertEqual(config["StopSignal"], "SIGTERM")
        self.assertEqual(list(config["ExposedPorts"]), ["8080/tcp"])
        labels = config["Labels"]
        self.assertEqual(labels["org.opencontainers.image.version"], VERSION)
        for word in ["title", "revision", "created", "licenses"]:
            self.assertTrue(labels["org.opencontainers.image." + word], word)

    # -------------------------------------------------------- how it starts

    def test_ready_in_300_ms(self):
        """The image's files, started without an engine: its own work would
        count else. The best of five, for what else runs here counts too."""
        best = min(self.start_plainly(18100 + i) for i in range(5))
        print(f"ready in {best * 1e3:.0f} ms", flush=True)
        self.assertLess(best, 0.3)

    def start_plainly(self, port):
        environment = dict(pair.split("=", 1) for pair
                           in self.image["Config"]["Env"])
        started = time.monotonic()
        daemon = subprocess.Popen(
            ["chroot", "--userspec=65532:65532", self.root, "/attentiond",
             "--port", str(port), "--host", "127.0.0.1"], env=environment,
            stderr=subprocess.DEVNULL)
        try:
            wait_until_ready(port)
            return time.monotonic() - started
        finally:
            daemon.terminate()
            daemon.wait(10)

    # --------------------------------------------------------- how it runs

    def test_locked_container_answers_on_its_published_port(self):
        made, port = self.run_locked()
        status, text = ask(port, "/attention", EXAMPLE)
        self.assertEqual(status, 200, text)
        self.assertAlmostEqual(json.loads(text)["output"][0][0],
                               6.697615493266569, 14)
        with open(f"/proc/{self.state(made)['Pid']}/status",
                  encoding="ascii") as file:
            process = dict(line.split(":\t", 1) for line
                           in file.read().splitlines() if ":\t" in line)
        self.assertEqual(process["Uid"].split(), ["65532"] * 4)
        self.assertEqual(int(process["CapEff"], 16), 0)
        self.assertEqual(process["NoNewPrivs"], "1")
        self.assertEqual(process["Seccomp"], "2")

    def test_health_check_tells_ready_from_not(self):
        made, _ = self.run_locked("-e", "ATTENTIOND_DRAIN_DELAY=30")
        self.assertEqual(self.check_health(made), 0)
        engine("kill", "--signal=TERM", made)
        time.sleep(0.5)
        self.assertEqual(self.check_health(made), 1)

    def check_health(self, made):
        command = ([ENGINE, "healthcheck", "run", made] if ENGINE == "podman"
                   else [ENGINE, "exec", made, "/attentiond", "--healthcheck"])
        for _ in range(10):
            status = subprocess.run(command, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL).returncode
            if status < 125:    # else the engine itself was too slow to ask
                break
        return status

    def test_daemon_notices_half_a_core_and_64_mb(self):
        _, port = self.run_small()
        facts = json.loads(ask(port, "/info")[1])
        self.assertEqual(facts["threads"]["count"], 1)
        self.assertIn("CPU quota of 0.5 cores", facts["threads"]["reason"])
        self.assertEqual(facts["limits"]["memory_bytes"], 32 << 20)

    def test_too_much_memory_is_refused_before_the_kernel_acts(self):
        made, port = self.run_small()
        big = self.call(4000)      # 16e6 weights: 64 MB
        status, text = ask(port, "/attention", big)
        self.assertIn(status, (413, 503), text[:300])
        self.assertIn("memory", json.loads(text)["code"])
        self.storm(port, self.call(1000), 16)   # 31 MB each
        self.assertEqual(ask(port, "/attention", EXAMPLE)[0], 200)
        state = self.state(made)
        self.assertTrue(state["Running"])
        self.assertFalse(state["OOMKilled"])

    def call(self, n):
        rows = [[i / n] for i in range(n)]
        return {"Q": rows, "K": rows, "V": rows}

    def storm(self, port, body, many):
        """Many at a time, each fit to be answered alone: every one gets its
        answer or is told to come again."""
        with concurrent.futures.ThreadPoolExecutor(many) as pool:
            replies = list(pool.map(
                lambda _: ask(port, "/attention", body, 120), range(many)))
        statuses = [status for status, _ in replies]
        print(f"{many} at a time: {statuses.count(200)} answered, "
              f"{statuses.count(503)} refused", flush=True)
        self.assertEqual(set(statuses) - {200, 503}, set())
        self.assertIn(200, statuses)

    def test_sigterm_to_process_1_ends_with_0(self):
        made, _ = self.run_locked()
        started = time.monotonic()
        engine("stop", "-t", "10", made)
        self.assertLess(time.monotonic() - started, 9)
        self.assertEqual(self.state(made)["ExitCode"], 0)


if __name__ == "__main__":
    os.environ.setdefault("CONTAINERS_CONF",
                          TREE + "/tests/image/containers.conf")
    os.environ.setdefault("SOURCE_DATE_EPOCH", "1700000000")
    ENGINE = output_of("tools/engine.sh").strip()
    unittest.main(argv=[sys.argv[0]], verbosity=2)

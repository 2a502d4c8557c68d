"""The event log of tidemark serve, where its file cannot be written: run by serve_events.sh.
usage: serve_events.py TIDEMARK FOLDER"""
import fcntl, json, os, re, resource, select, shutil, signal, socket, stat, struct, subprocess, sys, time

tool, folder = sys.argv[1:]
path, log = folder + "/s", folder + "/log"
LIMIT = 60 * int(os.environ.get("TEST_SLOWDOWN") or 1)  # s; a hang is a failure
ROOM = 1 << 20  # what waits in the service's memory
cases, started = [], []


def case(function):
    cases.append(function)
    return function


def is_listening():
    """It has its path a little earlier than it listens."""
    lines = [line.split() for line in open("/proc/net/unix")]
    return any(line[-1] == path and int(line[3], 16) & 0x10000 for line in lines)


class Service:
    def __init__(self, *options, events=log, before=None, stdout=subprocess.PIPE, wait=True):
        options = ["--json-events", events, *options] if events else options
        self.errors = open(folder + "/said", "wb")
        self.process = subprocess.Popen([tool, "serve", "--socket", path, *options], stdin=subprocess.DEVNULL,
                                        stdout=stdout, stderr=self.errors, preexec_fn=before)
        started.append(self.process)
        self.said = ""
        end = time.time() + LIMIT
        while wait and not is_listening() and time.time() < end and self.process.poll() is None:
            time.sleep(.01)

    def serves(self):
        """A whole client comes and goes."""
        done = subprocess.run([tool, "top", "--once", "--socket", path], capture_output=True, timeout=LIMIT)
        assert done.returncode == 0 and b" top " in done.stdout, done

    def end(self, number=signal.SIGTERM):
        """Its exit status; all that it said is in `said`."""
        self.process.send_signal(number)
        status = self.process.wait(LIMIT)
        if self.process.stdout:
            self.process.stdout.close()
        self.errors.close()
        self.said = open(folder + "/said").read()
        assert not os.path.exists(path), "the socket was left"
        return status


def come_and_go(count):
    """As many events: connections that say no hello."""
    for _ in range(count):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", LIMIT, 0))
            one.connect(path)


def lines_of(data):
    assert data == b"" or data.endswith(b"\n"), data[-80:]
    return [json.loads(line) for line in data.splitlines()]


def were_lost(count):
    return "1 event was lost" if count == 1 else "%d events were lost" % count


def total(events):
    """What was logged and what was dropped."""
    return sum(event["count"] if event["event"] == "dropped" else 1 for event in events)


def read_until(reader, wanted):
    """All that a non-blocking descriptor gives until so many events are accounted for."""
    data = b""
    end = time.time() + LIMIT
    while time.time() < end:
        select.select([reader], [], [], 1)
        try:
            data += os.read(reader, 1 << 16)
        except BlockingIOError:
            continue
        if data.endswith(b"\n") and data.count(b"\n") and total(lines_of(data)) >= wanted:
            return lines_of(data)
    raise AssertionError("%d events are missing" % (wanted - total(lines_of(data))))


def make_fifo():
    os.mkfifo(log)
    return os.open(log, os.O_RDONLY | os.O_NONBLOCK)


def wait_for_size(size):
    """Until the file has so many bytes, in whole lines: a part of one stands there while it is written, and until
    it is cut off."""
    end = time.time() + LIMIT
    while time.time() < end:
        data = open(log, "rb").read()
        if len(data) >= size and data.endswith(b"\n"):
            break
        time.sleep(.01)
    time.sleep(.05)


def is_stopped(process):
    tasks = "/proc/%d/task/" % process.pid
    return all(open(tasks + task + "/stat").read().rpartition(")")[2].split()[0] == "T" for task in os.listdir(tasks))


def read_lines(service, empty=False, file=log):
    """What the file holds, in whole lines, while the service stands still: a full file ends with a part of a line
    for as long as one is tried and cut off. With `empty` the file is emptied, and nothing is written in between."""
    end = time.time() + LIMIT
    while time.time() < end:
        service.process.send_signal(signal.SIGSTOP)
        while not is_stopped(service.process) and time.time() < end:
            time.sleep(.001)
        data = open(file, "rb").read()
        whole = data == b"" or data.endswith(b"\n")
        if whole and empty:
            os.truncate(file, 0)
        service.process.send_signal(signal.SIGCONT)
        if whole:
            return lines_of(data)
        time.sleep(.001)
    raise AssertionError("a line is never whole: %s" % data[-80:])


FLOOD = 12000  # more lines than fit in the queue and a pipe together


@case
def a_reader_that_stalls():
    reader = make_fifo()
    service = Service()
    service.serves()
    come_and_go(FLOOD)
    service.serves()
    events = read_until(reader, FLOOD + 4)
    dropped = [event["count"] for event in events if event["event"] == "dropped"]
    assert len(dropped) >= 1 and sum(dropped) > 0, "nothing was dropped"
    assert total(events) == FLOOD + 4, total(events)
    service.serves()
    assert [event["event"] for event in read_until(reader, 2)] == ["connected", "gone"]
    assert service.end() == 1
    assert were_lost(sum(dropped)) + ": it was not written fast enough" in service.said, service.said
    os.close(reader)


@case
def a_reader_that_never_reads():
    reader = make_fifo()
    service = Service()
    come_and_go(FLOOD)
    service.serves()
    assert service.end() == 1
    os.set_blocking(reader, True)
    kept = lines_of(b"".join(iter(lambda: os.read(reader, 1 << 16), b"")))
    assert kept and all(event["event"] == "turned away" for event in kept)
    lost = int(re.search("([0-9]+) events? (?:was|were) lost: it was not written fast enough", service.said)[1])
    assert len(kept) + lost == FLOOD + 2, (len(kept), lost)
    os.close(reader)


@case
def a_reader_that_leaves_and_another():
    reader = make_fifo()
    service = Service()
    service.serves()
    assert total(read_until(reader, 2)) == 2
    os.close(reader)
    come_and_go(100)
    service.serves()
    reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    assert total(read_until(reader, 102)) == 102
    assert service.end() == 0, service.said
    assert "no process reads it" in service.said, service.said
    os.close(reader)


@case
def a_reader_that_comes_late():
    os.mkfifo(log)
    service = Service()
    service.serves()
    reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    assert total(read_until(reader, 2)) == 2
    assert service.end() == 0
    os.close(reader)


@case
def a_reader_that_never_comes():
    os.mkfifo(log)
    service = Service()
    service.serves()
    assert service.end() == 1
    assert "2 events were lost: no process reads it" in service.said, service.said


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))


def small_service():
    """The limit holds for the memory of clients, too: theirs is small."""
    policy = folder + "/policy"
    with open(policy, "w") as file:
        file.write("default handles 16 timelines 4 cells 64 waits 4\n")
    return Service("--config", policy, before=small_files)


@case
def a_file_that_is_full():
    service = small_service()
    come_and_go(1000)
    wait_for_size(19000)
    service.serves()
    events = read_lines(service)
    assert 50 < len(events) < 1000, len(events)
    assert service.end() == 1
    assert "File too large; up to 1024 KiB of events wait" in service.said, service.said
    assert were_lost(1002 - len(events)) + ": File too large" in service.said, service.said
    assert len(lines_of(open(log, "rb").read())) == len(events)


@case
def a_full_file_that_gets_room_again():
    service = small_service()
    seen = 0
    come_and_go(500)
    for _ in range(100):
        wait_for_size(19000 if seen < 350 else 1)
        seen += total(read_lines(service, empty=True))
        if seen == 500:
            break
        time.sleep(.2)
    assert seen == 500, seen
    assert service.end() == 0, service.said
    assert service.said.count("File too large") >= 1, service.said


@case
def what_a_full_file_drops_is_counted():
    service = small_service()
    come_and_go(FLOOD)
    wait_for_size(19000)
    service.serves()
    seen = dropped = 0
    end = time.time() + LIMIT
    while seen < FLOOD + 2 and time.time() < end:
        time.sleep(.15)
        events = read_lines(service, empty=True)
        seen += total(events)
        dropped += sum(event["count"] for event in events if event["event"] == "dropped")
    assert seen == FLOOD + 2 and dropped > 0, (seen, dropped)
    assert service.end() == 1
    assert were_lost(dropped) + ": File too large" in service.said, service.said


@case
def a_device_without_room():
    service = Service(events="/dev/full")
    service.serves()
    assert service.end() == 1
    assert "2 events were lost: No space left on device" in service.said, service.said


@case
def a_line_that_was_torn_before():
    with open(log, "w") as file:
        file.write('{"time":1,"event":"conn')
    service = Service()
    service.serves()
    assert service.end() == 0
    lines = open(log).read().split("\n")
    assert lines[0] == '{"time":1,"event":"conn' and len(lines) == 4
    assert [json.loads(line)["event"] for line in lines[1:3]] == ["connected", "gone"]


@case
def another_process_writes_to_the_full_file():
    service = small_service()
    with open(log, "a") as file:
        for i in range(300):
            come_and_go(1)
            file.write('{"event":"mine"}\n')
            file.flush()
    service.serves()
    assert service.end() == 1
    for line in open(log).read().splitlines():
        try:
            event = json.loads(line)["event"]
        except ValueError:
            continue  # a part of a line that could not be cut off: it is no event
        assert event in ("mine", "turned away", "connected", "gone"), line


@case
def hangup_opens_the_file_anew():
    service = Service()
    service.serves()
    wait_for_size(1)
    for i in range(20):
        os.rename(log, "%s.%d" % (log, i))
        come_and_go(20)
        service.process.send_signal(signal.SIGHUP)
        end = time.time() + LIMIT
        while not os.path.exists(log) and time.time() < end:
            time.sleep(.005)
    service.serves()
    assert service.end() == 0, service.said
    count = 0
    for name in ["log"] + ["log.%d" % i for i in range(20)]:
        count += total(lines_of(open(folder + "/" + name, "rb").read()))
        os.unlink(folder + "/" + name)
    assert count == 404, count


@case
def hangup_where_it_cannot_be_opened():
    os.mkdir(folder + "/there")
    service = Service(events=folder + "/there/log")
    service.serves()
    os.rename(folder + "/there", folder + "/elsewhere")
    service.process.send_signal(signal.SIGHUP)
    end = time.time() + LIMIT
    while "the old file is written on" not in open(folder + "/said").read() and time.time() < end:
        time.sleep(.01)
    service.serves()
    assert service.end() == 0
    assert total(lines_of(open(folder + "/elsewhere/log", "rb").read())) == 4


@case
def hangup_without_a_log():
    service = Service(events=None)
    service.serves()
    assert service.end(signal.SIGHUP) == 0
    service = Service(events=None, before=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))  # nohup
    service.process.send_signal(signal.SIGHUP)
    service.serves()
    assert service.end() == 0


@case
def the_log_is_its_owners():
    service = Service(before=lambda: os.umask(0))
    assert service.end() == 0
    assert stat.S_IMODE(os.stat(log).st_mode) == 0o640


@case
def no_such_place():
    for events in (folder, folder + "/no/such", path + ".sock"):
        if events.endswith(".sock"):
            socket.socket(socket.AF_UNIX).bind(events)
        service = Service(events=events, wait=False)
        assert service.process.wait(LIMIT) == 1
        service.process.stdout.close()
        service.errors.close()
        assert events in open(folder + "/said").read()


def full_pipe():
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETFL, os.O_NONBLOCK)
    try:
        while True:
            os.write(writer, b"x" * 4096)
    except BlockingIOError:
        fcntl.fcntl(writer, fcntl.F_SETFL, 0)
    return reader, writer


@case
def output_that_is_not_read():
    reader, writer = full_pipe()
    service = Service(stdout=writer)
    service.serves()
    assert service.end() == 0
    os.close(reader)
    service = Service(stdout=writer)  # closed at the other end
    service.serves()
    assert service.end() == 0
    os.close(writer)
    service = Service(stdout=subprocess.DEVNULL, before=lambda: os.close(1))
    service.serves()
    assert service.end() == 0


@case
def errors_that_are_not_read():
    reader, writer = full_pipe()
    for events, status in ((log, 0), ("/dev/full", 1)):
        service = Service(events=events, before=lambda: os.dup2(writer, 2))
        come_and_go(100)
        service.serves()
        assert service.end() == status
    os.close(reader)
    service = Service(events="/dev/full", before=lambda: os.dup2(writer, 2))
    service.serves()
    assert service.end() == 1
    os.close(writer)
    service = Service(events="/dev/full", before=lambda: os.close(2))
    service.serves()
    assert service.end() == 1


def mount_small():
    os.mkdir(folder + "/disk")
    return subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder + "/disk"],
                          capture_output=True).returncode == 0


@case
def a_disk_that_is_full():
    if not mount_small():
        return "no file system could be mounted"
    try:
        file = folder + "/disk/log"
        service = Service(events=file)
        come_and_go(3000)
        end = time.time() + LIMIT
        while os.path.getsize(file) < 60000 and time.time() < end:
            time.sleep(.01)
        service.serves()
        events = read_lines(service, empty=True, file=file)
        assert 100 < len(events) < 3000, len(events)
        end = time.time() + LIMIT
        while not os.path.getsize(file) and time.time() < end:
            time.sleep(.01)
        assert service.end() == 1
        last = lines_of(open(file, "rb").read())
        assert were_lost(3002 - len(events) - len(last)) + ": No space left" in service.said, service.said
    finally:
        subprocess.run(["umount", "-l", folder + "/disk"], check=True)


wanted = os.environ.get("CASES", "").split()
for one in cases:
    if wanted and one.__name__ not in wanted:
        continue
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    started = []
    try:
        skipped = one()
        print("SKIP %s: %s" % (one.__name__, skipped) if skipped else "PASS " + one.__name__, flush=True)
    except Exception as error:
        print("FAIL %s: %r line %d" % (one.__name__, error, error.__traceback__.tb_next.tb_lineno
                                       if error.__traceback__.tb_next else error.__traceback__.tb_lineno), flush=True)
        for process in started:
            process.kill()
            process.wait()

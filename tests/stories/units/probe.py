"""Run in the place of `aro` by its own unit: tries what the unit should refuse, and prints what became of it as JSON."""

import ctypes
import errno
import json
import mmap
import os
import socket

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]


def attempt(action):
    """What an action came to: "done", or the name of its error."""
    try:
        action()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"


def call(name, *arguments):
    """The same of a function of libc."""
    ctypes.set_errno(0)
    answer = getattr(libc, name)(*arguments)
    failed = answer is None or answer in (-1, 2**64 - 1)
    return errno.errorcode.get(ctypes.get_errno(), "failed") if failed else "done"


def write(path):
    with open(path, "w") as file:
        file.write("written")


def writable(folder):
    return attempt(lambda: write(os.path.join(folder, "probe")))


def suid():
    path = "/var/lib/aro/probe"
    write(path)
    os.chmod(path, 0o4755)


def others():
    """Processes of other users that can be seen."""
    seen = [entry for entry in os.listdir("/proc") if entry.isdigit()]
    return [entry for entry in seen if os.stat(f"/proc/{entry}").st_uid != os.getuid()]


FOLDERS = [
    "/", "/etc", "/etc/aro", "/usr/bin", "/usr/local/lib", "/var", "/var/lib", "/var/log", "/srv", "/run", "/run/lock",
    "/home", "/home/somebody", "/root", "/dev", "/dev/shm", "/proc/sys/kernel", "/sys",
    "/tmp", "/var/tmp", "/var/lib/aro", "/var/log/aro",
]
ANY_EXECUTABLE = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
NEW_USER, NEW_MOUNTS = 0x10000000, 0x00020000
NO_RANDOM_ADDRESSES = 0x0040000
OTHER_ROUND_ROBIN = 2

print(json.dumps({
    "written": [folder for folder in FOLDERS if writable(folder) == "done"],
    "somebody": attempt(lambda: open("/home/somebody/file").close()),
    "others": others(),
    "devices": sorted(set(os.listdir("/dev")) & {"kmsg", "mem", "vda", "sda", "nvme0", "kvm", "fuse"}),
    "chmod u+s": attempt(suid),
    "setuid": attempt(lambda: os.setuid(0)),
    "kill 1": attempt(lambda: os.kill(1, 0)),
    "chroot": attempt(lambda: os.chroot("/var/lib/aro")),
    "renice": attempt(lambda: os.setpriority(os.PRIO_PROCESS, 0, -5)),
    "real time": attempt(lambda: os.sched_setscheduler(0, OTHER_ROUND_ROBIN, os.sched_param(1))),
    "unshare user": call("unshare", NEW_USER),
    "unshare mounts": call("unshare", NEW_MOUNTS),
    "mount": call("mount", b"none", b"/var/lib/aro", b"tmpfs", 0, None),
    "hostname": call("sethostname", b"other", 5),
    "clock": call("adjtimex", ctypes.create_string_buffer(256)),
    "personality": call("personality", NO_RANDOM_ADDRESSES),
    "ptrace": call("ptrace", 0, 0, None, None),
    "executable memory": call("mmap", None, 4096, ANY_EXECUTABLE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0),
    "netlink": attempt(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()),
    "packet": attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()),
    "vsock": attempt(lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()),
    "port 21": attempt(lambda: socket.create_server(("127.0.0.1", 21)).close()),
    "port 0": attempt(lambda: socket.create_server(("127.0.0.1", 0)).close()),
}))

"""What Python has on POSIX, and not on Windows."""

from __future__ import annotations

MODULES = frozenset(
    "crypt curses fcntl grp nis posix pty pwd readline resource spwd syslog termios tty".split()  # noqa: SIM905
)

ATTRIBUTES = {
    "os": frozenset(
        """
        O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_SYNC WNOHANG chown confstr fchown fdatasync fork forkpty getegid
        geteuid getgid getloadavg getpgid getpgrp getpriority getsid getuid killpg lchown lockf mkfifo mknod nice
        openpty pipe2 posix_fadvise posix_spawn posix_spawnp pread pwrite register_at_fork sched_getaffinity
        sched_setaffinity sched_yield sendfile setpgid setpriority setsid setuid statvfs sync sysconf tcgetpgrp ttyname
        uname wait wait3 wait4 waitid
        """.split()  # noqa: SIM905
    ),
    "signal": frozenset(
        """
        SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2 SIGWINCH alarm getitimer
        pause pthread_kill pthread_sigmask setitimer siginterrupt sigpending sigtimedwait sigwait
        """.split()  # noqa: SIM905
    ),
    "select": frozenset({"epoll", "kqueue", "poll"}),
    "time": frozenset({"clock_gettime", "pthread_getcpuclockid", "tzset"}),
}

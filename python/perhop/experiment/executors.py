"""Executors of runs: processes of this machine, or a Dask cluster."""

from __future__ import annotations

import logging
import os
import pickle
import queue
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from perhop.experiment.fault import HintedError
from perhop.experiment.work import VersionsDiffer, check_versions, identity
from perhop.run import cores

P = ParamSpec("P")
T = TypeVar("T")

_CONNECT_S = 20


class WorkerDied(BrokenExecutor):
    """The process that had this call ended; others go on."""


class ExecutorError(HintedError):
    """Runs cannot be made there."""


def open_executor(where: str | None, workers: int | None = None) -> LocalProcesses | DaskCluster:
    """Return the scheduler at ``dask://host:port``, or processes of this machine, as many as cores if None.

    Raises
    ------
    ValueError
        `where` is no such address.
    """
    if where is None:
        return LocalProcesses(workers or cores.count())
    scheme, _, address = where.partition("://")
    if scheme != "dask" or ":" not in address:
        raise ValueError(f"{where!r} is no executor: write dask://host:port")
    return DaskCluster(address)


def width(executor: Executor) -> int:
    """Return how many calls an executor makes side by side just now."""
    found = getattr(executor, "width", None) or getattr(executor, "_max_workers", None)
    return max(1, int(found or 1))


class _Ending(Executor):
    """An executor that does not wait for calls with unwanted results."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown(cancel_futures=True)


class LocalProcesses(_Ending):
    """Processes of this machine; one that dies fails its own call (`WorkerDied`) and is replaced.

    They inherit nothing of the driver but its environment and where it imports from, and end with it.
    """

    def __init__(self, workers: int) -> None:
        self.width = workers
        self._threads = ThreadPoolExecutor(workers, "perhop-worker")
        self._idle: queue.SimpleQueue[_Process | None] = queue.SimpleQueue()
        self._all: set[_Process] = set()
        self._ended = False
        for _ in range(workers):
            self._idle.put(None)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a function that can be imported called by a worker."""
        if kwargs:
            raise TypeError("arguments are given by position")
        return self._threads.submit(self._call, fn, args)

    def _call(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        process = self._idle.get()
        try:
            if process is None:
                process = _Process()
                self._all.add(process)
            if self._ended:
                process.end()
                raise WorkerDied("the workers are ended")
            well, answer = process.call(function, arguments)
        except WorkerDied:
            self._all.discard(process)
            process = None
            raise
        finally:
            self._idle.put(process)
        if well:
            return answer  # type: ignore[no-any-return]
        raise answer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers, after the calls that wait or, with `cancel_futures`, at once."""
        self._threads.shutdown(wait=wait and not cancel_futures, cancel_futures=cancel_futures)
        if wait or cancel_futures:
            self._ended = True
            for process in list(self._all):
                process.end()
            self._threads.shutdown(wait=True)


class _Process:
    """A process that makes one call after the other."""

    def __init__(self) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  (as long as the process)
        paths = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(
            # -P: a file of the user's called like a module of the library is not imported
            [sys.executable, "-P", "-c", "from perhop.experiment.worker import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            # tables of a run are small, and workers already take all cores
            env={"OPENBLAS_NUM_THREADS": "1"} | os.environ | {"PYTHONPATH": paths, "POLARS_MAX_THREADS": "1"},
        )

    def call(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bool, Any]:
        """Return whether a call ended well, and its result or the error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            pickle.dump((function, arguments), self._process.stdin)
            self._process.stdin.flush()
            return pickle.load(self._process.stdout)  # type: ignore[no-any-return]
        except (EOFError, OSError, ValueError, pickle.UnpicklingError) as error:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1)  # its own status, if it is about to end
            self._process.kill()
            why = self._why(self._process.wait())
            self.end()
            raise WorkerDied(why) from error

    def end(self) -> None:
        """End the process, whatever it is at."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._stderr.close()

    def _why(self, status: int) -> str:
        ending = f"the worker process ended with {f'signal {-status}' if status < 0 else f'status {status}'}"
        try:
            self._stderr.seek(0)
            lines = self._stderr.read()[-2000:].decode(errors="replace").strip().splitlines()
        except ValueError:  # closed: the driver ends
            return ending
        return f"{ending}: {lines[-1]}" if lines else ending


class DaskCluster(_Ending):
    """The workers of the Dask scheduler at ``host:port``, each with the perhop of the driver.

    Dask itself gives a call to another worker when one dies, and gives up after some.
    """

    def __init__(self, address: str) -> None:
        try:
            import distributed  # noqa: PLC0415, optional
        except ImportError as error:
            raise ExecutorError("Dask is not installed", "pip install 'perhop[dask]'") from error
        # what it logs when a worker goes is told by the campaign, if it matters
        for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._address = address
        try:
            connect: Any = distributed.Client
            self._client: Any = connect(f"tcp://{address}", timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            hint = "start one: dask scheduler, then dask worker HOST:PORT"
            raise ExecutorError(f"no Dask scheduler answers at {address}", hint) from error
        try:
            self._client.wait_for_workers(1, timeout=_CONNECT_S)
            self._check_workers()
        except TimeoutError as error:
            self._client.close()
            hint = f"start one: dask worker {address}"
            raise ExecutorError(f"the Dask scheduler at {address} has no worker", hint) from error
        except BaseException:
            self._client.close()
            raise
        self._executor = self._client.get_executor(pure=False)

    @property
    def width(self) -> int:
        """Calls side by side, of the workers there are now."""
        try:
            return sum(self._client.nthreads().values())
        except (OSError, TimeoutError) as error:
            raise ExecutorError(f"the Dask scheduler at {self._address} has gone") from error

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a function that can be imported called by a worker."""
        return self._executor.submit(fn, *args, **kwargs)  # type: ignore[no-any-return]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster as it is."""
        with suppress(Exception):  # a scheduler that is gone has nothing to be told
            self._executor.shutdown(wait=wait and not cancel_futures)
        with suppress(Exception):
            self._client.close(timeout=5)

    def _check_workers(self) -> None:
        _, version, results_version = identity()
        for worker, found in self._client.run(identity, on_error="return").items():
            if isinstance(found, BaseException):
                rule = f"the worker {worker} has no perhop: {found}"
                raise ExecutorError(rule, f"install perhop {version} on it")
            try:
                check_versions(found, version, results_version)
            except VersionsDiffer as error:
                raise ExecutorError(str(error), "install the same perhop on every worker") from error

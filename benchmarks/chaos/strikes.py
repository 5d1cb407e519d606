"""Faults as they are put upon machines, and how each is undone."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from random import Random
from typing import Final

from benchmarks.chaos.draws import Strike
from benchmarks.chaos.evidence import Cut
from benchmarks.chaos.links import LOSSY, NARROW, Spoiling, mend_link, spoil_link
from benchmarks.chaos.machines import Machine, Machines, attempt
from benchmarks.kit.divisible import DivisibleNetwork

Undo = Callable[[], None]
SETTLED_S: Final = 12.0
"""So long somebody has been there before he counts among those that a lost disk may rely on."""


class Passed(Exception):
    """Raised by a strike that cannot come now, or not on this machine; says why."""


class Striker:
    """Strikes, and heals. What it does stands in ``told``, a line each; cuts in ``cuts``."""

    def __init__(
        self,
        machines: Machines,
        network: DivisibleNetwork | None,
        copies: int,
        seed: str,
        sink: Callable[[bool], None] | None,
    ) -> None:
        self._machines, self._network, self._copies, self._sink = machines, network, copies, sink
        self._dice = Random(f"{seed}/strikes")
        self._cut = False
        self.cuts: list[Cut] = []
        self.thawed_s: list[float] = []
        """When slaves that stood still went on, once for each of them."""
        self.lost_disks = 0

    def strike(self, strike: Strike) -> Undo | None:
        """Does it, and returns what undoes it. Raises Passed."""
        victims = [machine for n in strike.who if not (machine := self._machines.all[n]).buried]
        if strike.who and not victims:
            raise Passed("buried")
        match strike.what:
            case "kill" | "kill-group" | "blackout":
                return self._kill(victims, alone=strike.what == "kill")
            case "kill-slave":
                return self._kill_slave(victims[0])
            case "stop" | "stop-group" | "stop-slave":
                return self._stop(victims, strike.what)
            case "wipe":
                return self._wipe(victims, strike.keeps_identity)
            case "bury":
                return self._bury(victims[0])
            case "leave":
                return self._leave(victims[0])
            case "join":
                return self._join()
            case "full":
                return self._fill(victims[0])
            case "power" | "power-all" | "failing":
                return self._power(victims, fails_only=strike.what == "failing")
            case "cut":
                return self._divide(victims)
            case "narrow" | "lossy":
                return self._spoil(victims[0], NARROW if strike.what == "narrow" else LOSSY)
            case "sink-away":
                return self._take_sink_away()
            case other:
                raise AssertionError(other)

    def raise_all(self) -> None:
        """Starts whatever is down and not buried. Raises Overdue or RuntimeError."""
        for machine in self._machines.all:
            if not machine.buried and not machine.up:
                self._start(machine)
            machine.disk.free()

    # -- processes ------------------------------------------------------------------------------

    def _kill(self, victims: list[Machine], *, alone: bool) -> Undo:
        for machine in victims:
            self._machines.go_on(machine)
            (self._machines.kill_master if alone else self._machines.kill)(machine)
        return self._return_of(victims)

    def _kill_slave(self, machine: Machine) -> None:
        if not machine.well or machine.peer is None or not (slaves := machine.peer.slaves()):
            raise Passed("it has no slave now")
        self._machines.look()
        os.kill(slaves[0], signal.SIGKILL)

    def _stop(self, victims: list[Machine], what: str) -> Undo:
        victims = [machine for machine in victims if machine.well and machine.peer is not None]
        if not victims:
            raise Passed("it does not run now")
        slaves = 0
        for machine in victims:
            assert machine.peer is not None
            own = machine.peer.slaves()
            chosen = {"stop": [machine.peer.pid], "stop-group": [machine.peer.pid, *own], "stop-slave": own}[what]
            slaves += len(own) * (what != "stop")
            self._machines.stop(machine, chosen)

        def undo() -> None:
            self.thawed_s += [time.monotonic()] * slaves
            for machine in victims:
                self._machines.go_on(machine)

        return undo

    def _leave(self, machine: Machine) -> Undo:
        if not machine.well or len(self._machines.well()) < 2:
            raise Passed("it does not run now, or alone")
        self._machines.leave(machine)
        return self._return_of([machine])

    def _join(self) -> None:
        if self._network is not None and len(self._machines.all) >= self._network.machines:
            raise Passed("no more machines")
        machine = self._machines.add()
        attempt(lambda: self._machines.start(machine))

    # -- disks ----------------------------------------------------------------------------------

    def _wipe(self, victims: list[Machine], keeps_identity: bool) -> Undo:
        self._may_lose(victims)
        for machine in victims:
            self._forget_name(machine, keeps_identity)
            self._machines.kill(machine)
            machine.disk.lose(keeps_identity=keeps_identity)
        self.lost_disks += len(victims)
        return self._return_of(victims)

    def _bury(self, machine: Machine) -> None:
        if sum(not each.buried for each in self._machines.all) <= self._copies:
            raise Passed("too few would be left")
        self._may_lose([machine])
        self._forget_name(machine, False)
        self._machines.kill(machine)
        machine.disk.lose(keeps_identity=False)
        machine.buried = True
        self.lost_disks += 1

    def _may_lose(self, victims: list[Machine]) -> None:
        """Raises Passed where docs/copies.md promises nothing: fewer than R others that have been there for a while."""
        if len(victims) >= self._copies:
            return
        now = time.monotonic()
        others = [m for m in self._machines.well() if m not in victims and now - m.began_s > SETTLED_S]
        if len(others) < min(self._copies, len(self._machines.all) - 1) or self._cut:
            raise Passed("too few others have been there for a while")
        if any(machine.peer is None for machine in victims):
            raise Passed("it does not run now, so nobody knows its name")

    def _forget_name(self, machine: Machine, keeps_identity: bool) -> None:
        if machine.peer is not None and not keeps_identity:
            self._machines.gone_ids.append(machine.peer.id)

    def _fill(self, machine: Machine) -> Undo:
        machine.may_end = "its disk is full"
        machine.disk.fill()

        def undo() -> None:
            machine.disk.free()
            if not machine.up:
                self._start(machine)

        return undo

    def _power(self, victims: list[Machine], *, fails_only: bool) -> Undo:
        for machine in victims:
            machine.may_end = "its disk has failed"
            machine.disk.power_off()
        if not fails_only:
            for machine in victims:
                self._machines.kill(machine)

        def undo() -> None:
            for machine in victims:
                self._machines.kill(machine)
                if machine.disk.off:
                    machine.disk.repair()
            self._return_of(victims)()

        return undo

    def _return_of(self, victims: list[Machine]) -> Undo:
        order = self._dice.sample(victims, len(victims))

        def undo() -> None:
            for machine in order:
                if not machine.up:
                    self._start(machine)

        return undo

    def _start(self, machine: Machine) -> None:
        machine.disk.free()
        if machine.disk.off:
            machine.disk.repair()
        attempt(lambda: self._machines.start(machine))

    # -- network and sinks ----------------------------------------------------------------------

    def _divide(self, victims: list[Machine]) -> Undo:
        if self._cut or self._network is None:
            raise Passed("it is cut already" if self._cut else "needs namespaces")
        network, self._cut = self._network, True
        island = frozenset(network.out(machine.number) for machine in victims)
        cut = Cut(time.monotonic(), float("inf"), sorted(island))
        self.cuts.append(cut)
        network.cut(machine.number for machine in victims)

        def undo() -> None:
            network.heal()
            self._cut = False
            cut.healed_s = time.monotonic()

        return undo

    def _spoil(self, machine: Machine, how: Spoiling) -> Undo:
        if self._network is None:
            raise Passed("needs namespaces")
        namespace = self._network.name(machine.number)
        if why := spoil_link(namespace, "eth0", how):
            raise Passed(why)
        return lambda: mend_link(namespace, "eth0")

    def _take_sink_away(self) -> Undo:
        if self._sink is None:
            raise Passed("this round has no webhook")
        sink = self._sink
        sink(False)
        return lambda: sink(True)

"""Mistakes in part files: which of them count, which hold an item already, and which are nobody's."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

_PARTS = "p2pcrawl.stores.parts."

MUTANTS = (
    Mutant(
        name="doubtful-parts-trusted",
        kind=Slip.EARLY,
        where=_PARTS + "manifests:Manifests.read",
        old="        self.doubtful.update(dict.fromkeys(range(self.passed, there)))\n",
        new="",
        harm="What a crash left between a part and its cursor is brought again, in another part.",
    ),
    Mutant(
        name="passed-not-counted",
        kind=Slip.FENCE,
        where=_PARTS + "manifests:Manifests.brought",
        old="        self.passed = len(self.listed.parts)\n",
        new="",
        harm="The position of a folder stays where it was: after each crash all parts are doubtful.",
        equivalent="More parts are looked at for what is brought again than need be; what is found there is the same.",
    ),
    Mutant(
        name="doubts-end-with-the-first-batch",
        kind=Slip.EARLY,
        where=_PARTS + "manifests:Manifests.brought",
        old="waiting is None or waiting}",
        new="waiting is None}",
        harm="Of a part that a crash made doubtful only the first batch is compared; the rest is brought twice.",
    ),
    Mutant(
        name="own-parts-not-compared",
        kind=Slip.CHECK,
        where=_PARTS + "manifests:Manifests.there",
        old="            found |= await self._among(again, self.listed.parts)\n",
        new="            pass\n",
        harm="A page that goes to another master and comes back is brought a second time by the first.",
    ),
    Mutant(
        name="rivals-not-compared",
        kind=Slip.SIDE,
        where=_PARTS + "manifests:Manifests.there",
        old="if self._is_ours(await self._look(writer)):",
        new="if not self._is_ours(await self._look(writer)):",
        harm="An heir brings what the one before it had brought.",
    ),
    Mutant(
        name="heir-does-not-seal",
        kind=Slip.FENCE,
        where=_PARTS + "manifests:Manifests.there",
        old="sealed = await self._seal(writer, self.writer)",
        new="sealed = await self._look(writer)",
        harm="What the one before had on its way gets into its manifest after its heir has looked.",
    ),
    Mutant(
        name="sealed-without-a-turn",
        kind=Slip.FENCE,
        where=_PARTS + "manifest:Manifest.sealed",
        old="turn=self.turn + 1, ",
        new="",
        harm="A part that was begun before its writer was sealed looks like one of afterwards, and stays for ever.",
    ),
    Mutant(
        name="parts-of-the-living-removed",
        kind=Slip.EDGE,
        where=_PARTS + "manifests:Manifests.remove_strays_of_others",
        old="turn < sealed.turn and",
        new="turn <= sealed.turn and",
        harm="A part that a living writer is just about to list is taken for a stray.",
    ),
    Mutant(
        name="listed-parts-are-strays",
        kind=Slip.CHECK,
        where=_PARTS + "manifests:Manifests.remove_strays",
        old=" and not self.listed.lists(name)",
        new="",
        harm="A writer that comes back removes its parts, which its manifest goes on listing.",
    ),
    Mutant(
        name="keys-of-a-part-missing",
        kind=Slip.EARLY,
        where=_PARTS + "part_sink:PartSink._put",
        old="        await self._store.put(keys_name(name), keys)\n",
        new="",
        harm="Nobody can tell what is in a part: who comes after waits for ever for its keys.",
    ),
)

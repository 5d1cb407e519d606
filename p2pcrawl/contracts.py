"""Contracts in the docstrings of callbacks, as people define them."""

from p2pcrawl.spiders.aids.own_contract import Contract, ContractFail

__all__ = [
    "Contract",
    "ContractFail",
]

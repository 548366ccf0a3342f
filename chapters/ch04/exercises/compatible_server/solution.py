"""`lantern`: a server that is almost compatible, as one record."""

from __future__ import annotations

from chapters.ch04.provider import Api, IdRule, Provider, Strict


def lantern() -> Provider:
    """What Lantern wants, by its documentation."""
    # solution: Return one Provider; say what differs from the record's defaults, and nothing else.
    return Provider(
        "lantern",
        Api.CHAT,
        "Lantern, the models of the company's own data centre",
        "https://api.lantern.example/v2",
        token_limit_key="max_new_tokens",
        max_tokens=4_096,
        system_role="developer",
        empty_content=None,
        strict=Strict.OFF,
        images=False,
        result_name=True,
        reply_after_results=True,
        ids=IdRule(r"[A-Za-z0-9_-]{1,24}", 24),
        blank_text=False,
        finish_required=False,
        name_limit=40,
        max_tools=32,
        extra_body={"retention": "none"},
        headers={"Lantern-Version": "2026-10"},
    )
    # end solution

from __future__ import annotations

import pytest

from toolwitness.redaction.words import split_words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("userPassword", ("user", "password")),
        ("UserPassword", ("user", "password")),
        ("user_password", ("user", "password")),
        ("user-password", ("user", "password")),
        ("USER_PASSWORD", ("user", "password")),
        ("user password", ("user", "password")),
        ("DBPassword", ("db", "password")),
        ("userAPIKey2", ("user", "api", "key", "2")),
        ("x-api-key", ("x", "api", "key")),
        ("args.user.id", ("args", "user", "id")),
        ("\uff50\uff57\uff44", ("pwd",)),
        ("pass\u200dword", ("password",)),
        ("用户password", ("用户", "password")),
        ("contraseña", ("contrasena",)),
        ("", ()),
        ("--", ()),
    ],
)
def test_every_naming_form_gives_the_same_words(name, words):
    """A name is split at borders of case, digits, separators and scripts, whatever its form."""
    assert split_words(name) == words

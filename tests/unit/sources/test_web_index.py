"""Links of an index page of a web server."""

from __future__ import annotations

import pytest

from kafkabal.sources.web_index import escaped_path, linked_names

URL = "http://host:8000/my%20set/"


@pytest.mark.parametrize(
    ("link", "names"),
    [
        ("a.jpg", ["a.jpg"]),
        ("./a.jpg", ["a.jpg"]),
        ("/my%20set/a.jpg", ["a.jpg"]),
        ("http://host:8000/my set/a.jpg#part", ["a.jpg"]),
        ("sub/", ["sub/"]),
        ("sub/a.jpg", ["sub/a.jpg"]),
        ("a%20b%25%23%3F.jpg", ["a b%#?.jpg"]),
        ("%C3%A9%FF.jpg", ["é\udcff.jpg"]),
        ("a&amp;b.jpg", ["a&b.jpg"]),
        ("é b.jpg", ["é b.jpg"]),
        ("", []),
        ("./", []),
        ("../", []),
        ("/", []),
        ("?C=N;O=D", []),
        ("./?sort=name", []),
        ("%2e%2e/up.jpg", []),
        ("sub//a.jpg", ["sub/a.jpg"]),
        ("/my%20settings/a.jpg", []),
        ("https://other/my%20set/a.jpg", []),
        ("mailto:a@b", []),
        ("javascript:void(0)", []),
        ("http://[", []),
    ],
)
def test_links_to_what_is_below_the_page_are_names(link: str, names: list[str]) -> None:
    """Links are resolved and unescaped; those that sort the page or lead elsewhere are no files."""
    assert linked_names(f'<A HREF="{link}">x</A><img src="x.png"><a>'.encode(), URL) == names


@pytest.mark.parametrize("link", ["a.jpg", "/set/a.jpg", "http://HOST/set/a.jpg"])
def test_links_need_no_password(link: str) -> None:
    """A page that was asked for with a password links to the same server without one."""
    assert linked_names(f"<a href={link}>".encode(), "http://user:secret@host/set/") == ["a.jpg"]


def test_a_name_that_is_linked_twice_is_listed_once() -> None:
    """Pages link a file from its picture too, and list names in their order."""
    page = b"<a href='b.jpg'><img></a><a href=b.jpg>b</a><a href=a.jpg>a</a>"
    assert linked_names(page, URL) == ["b.jpg", "a.jpg"]


@pytest.mark.parametrize("name", ["a b%#?&é.jpg", "sub/\udcff.jpg"])
def test_a_name_becomes_the_link_it_came_from(name: str) -> None:
    """Escaping undoes unescaping, in any encoding."""
    assert linked_names(f'<a href="{escaped_path(name)}">'.encode(), URL) == [name]

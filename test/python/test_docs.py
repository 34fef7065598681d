"""What README.md and docs/ name is there: files, tests, passes, links."""

import functools
import glob
import os
import re

import pytest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PAGES = sorted(os.path.relpath(page, ROOT) for pattern in ("*.md", "docs/*.md", "docs/notes/*.md", "dialects/*/*.md")
               for page in glob.glob(os.path.join(ROOT, pattern)))
FOLDERS = ("bench", "dialects", "docs", "examples", "include", "lib", "passes", "python", "test", "tools")


@functools.cache
def read(name):
    with open(os.path.join(ROOT, name)) as file:
        return file.read()


@functools.cache
def files():
    return [os.path.relpath(os.path.join(folder, name), ROOT) for top in FOLDERS for folder, _, names in os.walk(os.path.join(ROOT, top)) for name in names]


@functools.cache
def passes():
    """{name: TableGen's name} of all passes."""
    texts = [read(name) for name in files() if name.startswith("passes/") and name.endswith("Passes.td")]
    return {name: made for text in texts for made, name in re.findall(r'def (\w+) : Pass<"([\w-]+)"', text)}


def headings(page):
    return [re.sub(r"[^\w\- ]", "", line.lower()).strip().replace(" ", "-") for line in re.findall(r"^#+ (.*)$", read(page), re.M)]


def outside_code(page):
    return re.sub(r"```.*?```", "", read(page), flags=re.S)


@pytest.mark.parametrize("page", PAGES)
def test_links(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", outside_code(page))):
        if link.startswith("http"):
            continue
        path, _, anchor = link.partition("#")
        name = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        assert os.path.exists(os.path.join(ROOT, name)), link
        assert not anchor or anchor in headings(name), link


@pytest.mark.parametrize("page", PAGES)
def test_names(page):
    """Paths below one of the folders, and what looks like a pass."""
    for code in re.findall(r"`([^`\n]+)`", outside_code(page)):
        for path in re.findall(rf"(?<![\w/.-])(?:{'|'.join(FOLDERS)})/[\w./-]*\w", code):
            if "STAGE" not in path and not re.search(r"[*{<]", code):
                assert any(name == path or name.startswith((path + ".", path + "/", path + "-")) for name in files()), path
        if re.fullmatch(r"(tile|warp|nv)-[a-z0-9-]+", code):
            assert code in passes(), code


def test_every_pass_of_the_pipelines_is_described():
    made = re.findall(r"create(\w+?)(?:Pass)?\(", read("passes/Pipelines.cpp") + read("passes/Warp/RoleStage.cpp"))
    ours = [name for name, own in passes().items() if own in made]
    assert len(ours) > 50 and not [name for name in ours if f"`{name}`" not in read("docs/pipeline.md")]

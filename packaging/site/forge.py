"""An extension of Sphinx: renders Markdown that is written for a forge, as it is.

The navigation is what docs/README.md links to: a group for each heading, with the texts of the links as titles. A
<picture> with a source for the dark becomes two images, of which the theme shows one. Sphinx and MyST warn of links,
anchors and images that lead nowhere; this warns of what they let pass. Every warning fails the build.
"""

import html.parser
import pathlib
import posixpath
import re
import urllib.parse

import markdown_it
from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

INDEX = "docs/README"

logger = logging.getLogger(__name__)


def groups(text):
    """Yields heading, and titles with pages, of each section of the index. A page belongs to the first that has it."""
    seen, heading, entries = {INDEX}, None, []
    tokens = markdown_it.MarkdownIt("commonmark").enable("table").parse(text)
    for before, token in zip([None, *tokens], tokens):
        if token.type != "inline":
            continue
        if before.type == "heading_open":
            yield heading, entries
            heading, entries = token.content if before.tag == "h2" else None, []
        if not heading:
            continue
        for title, href in links(token.children):
            path, anchor = urllib.parse.urldefrag(href)
            page = posixpath.normpath(posixpath.join(posixpath.dirname(INDEX), path))
            if anchor or not page.endswith(".md") or page.removesuffix(".md") in seen:
                continue
            seen.add(page.removesuffix(".md"))
            entries.append((title[:1].upper() + title[1:], page.removesuffix(".md")))
    yield heading, entries


def links(tokens):
    """Yields text and target of each link of an inline token."""
    href, text = None, ""
    for token in tokens:
        if token.type == "link_open":
            href, text = token.attrGet("href"), ""
        elif token.type == "link_close":
            yield text, href
        else:
            text += token.content


class Navigation(SphinxTransform):
    """Gives the first page the tree that the navigation, and each page's neighbours, are made of."""

    default_priority = 500

    def apply(self):
        if self.env.docname != self.config.root_doc:
            return
        index = pathlib.Path(self.env.doc2path(INDEX))
        self.document += self.tree(None, [("Documentation", INDEX)])
        for heading, entries in groups(index.read_text(encoding="utf-8")):
            entries = [(title, page) for title, page in entries if page in self.env.found_docs]
            if entries:
                self.document += self.tree(heading, entries)

    def tree(self, caption, entries):
        tree = addnodes.toctree(
            "", parent=self.env.docname, entries=entries, includefiles=[page for _, page in entries],
            caption=caption, rawcaption=caption, maxdepth=1, hidden=True, glob=False, includehidden=False, numbered=0, titlesonly=True,
        )
        return nodes.compound("", tree, classes=["toctree-wrapper"])


class Picture(html.parser.HTMLParser):
    """What stands in a piece of HTML: light and dark image, text in place of them, and other targets."""

    def __init__(self, text):
        super().__init__()
        self.light = self.dark = None
        self.alt, self.others = "", []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "img":
            self.light, self.alt = attrs.get("src"), " ".join((attrs.get("alt") or "").split())
        elif tag == "source" and "dark" in attrs.get("media", ""):
            self.dark = attrs.get("srcset")
        else:
            self.others += [attrs[name] for name in ("href", "src", "srcset") if name in attrs]


class Pictures(SphinxTransform):
    """Makes images of HTML that has them, so that Sphinx finds and copies the files."""

    default_priority = 500

    def apply(self):
        for raw in list(self.document.findall(nodes.raw)):
            picture = Picture(raw.astext())
            for target in picture.others:
                logger.warning("unchecked link in HTML, write it in Markdown: %s", target, location=raw)
            if not picture.light:
                continue
            if not picture.dark:
                images = [nodes.image("", uri=picture.light, alt=picture.alt)]
            else:
                images = [nodes.image("", uri=uri, alt=picture.alt, classes=["only-" + scheme]) for scheme, uri in (("light", picture.light), ("dark", picture.dark))]
            raw.replace_self(nodes.paragraph("", "", *images))


def check_external(app, doctree):
    """Warns of addresses that cannot be right. Nothing is asked of the network."""
    for node in doctree.findall(nodes.reference):
        uri = node.get("refuri", "")
        if re.match("https?:", uri):
            try:
                good = re.fullmatch(r"[\w-]+(\.[\w-]+)+|localhost", urllib.parse.urlsplit(uri).hostname or "") and not re.search(r"\s", uri)
            except ValueError:
                good = False
            if not good:
                logger.warning("invalid address: %s", uri, location=node)


def setup(app):
    app.add_transform(Navigation)
    app.add_transform(Pictures)
    app.connect("doctree-read", check_external)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Location and type together decide what a file is."""

import pytest

from rungs.corpus import category, language


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        # code and tests
        ("celery/celery/app/task.py", "code"),
        ("setup.py", "code"),
        ("src/index.ts", "code"),
        ("src/components/List.tsx", "code"),
        ("schema/user.proto", "code"),
        ("scripts/release.sh", "code"),
        ("lib/thing.zig", "code"),
        ("lib/thing.unknownending", "code"),
        ("celery/t/unit/app/test_app.py", "test"),
        ("celery/t/skip.py", "test"),
        ("tests/helpers/factory.py", "test"),
        ("pkg/test_things.py", "test"),
        ("pkg/things_test.py", "test"),
        ("pkg/conftest.py", "test"),
        ("shop/tests.py", "test"),
        ("src/list.test.ts", "test"),
        ("src/list.spec.tsx", "test"),
        ("src/__tests__/list.js", "test"),
        ("pkg/server_test.go", "test"),
        ("src/test/java/AppTest.java", "test"),
        # no tests in spite of their names
        ("celery/celery/contrib/testing/worker.py", "code"),
        ("celery/contrib/pytest.py", "code"),
        ("app/management/commands/test.py", "code"),
        ("app/latest.py", "code"),
        ("app/contest_rules.py", "code"),
        # pages under docs/ are documents whatever their ending; programs there are programs
        ("docs/index.rst", "doc"),
        ("docs/configuration.html", "doc"),
        ("docs/_templates/sidebar.html", "doc"),
        ("docs/includes/intro.txt", "doc"),
        ("docs/page.jinja", "doc"),
        ("site/doc/page.htm", "doc"),
        ("docs/conf.py", "code"),
        ("docs/_ext/celerydocs.py", "code"),
        ("docs/test_snippets.py", "test"),
        ("docs/Makefile", "config"),
        ("docs/openapi.yml", "config"),
        ("tests/docs/page.html", "doc"),
        ("docs/tests/page.html", "test"),
        # an application's own pages are its code
        ("app/templates/index.html", "code"),
        ("app/templates/history.html", "code"),
        ("app/mail/welcome.txt.j2", "code"),
        ("tests/templates/index.html", "test"),
        # prose anywhere
        ("README.rst", "doc"),
        ("README", "doc"),
        ("tests/README.md", "doc"),
        ("Changelog", "doc"),
        ("CHANGELOG-v2.txt", "doc"),
        ("HISTORY.md", "doc"),
        ("AUTHORS", "doc"),
        ("CONTRIBUTORS.txt", "doc"),
        ("LICENSE", "doc"),
        ("LICENSE.MIT", "doc"),
        ("notes/ideas.txt", "doc"),
        ("analysis.ipynb", "doc"),
        ("src/page.mdx", "doc"),
        ("changes.py", "code"),
        # settings and data anywhere
        ("package.json", "config"),
        ("tests/data.json", "config"),
        ("app/settings.yaml", "config"),
        ("pyproject.toml", "config"),
        ("setup.cfg", "config"),
        ("deploy/nginx.conf", "config"),
        ("db/schema.sql", "config"),
        ("extra/celery.service", "config"),
        ("Dockerfile", "config"),
        ("Makefile", "config"),
        ("MANIFEST.in", "config"),
        ("requirements.txt", "config"),
        ("requirements/extras/redis.txt", "config"),
        ("dev-requirements.txt", "config"),
        ("changelog.json", "config"),
        (".editorconfig", "config"),
        (".gitignore", "config"),
        ("CODEOWNERS", "config"),
    ],
)
def test_table(path: str, expected: str) -> None:
    assert category(path) == expected


def test_a_script_without_ending_is_told_by_its_first_line() -> None:
    assert category("extra/init.d/celeryd", "#!/bin/sh -e\necho\n") == "code"
    assert category("extra/init.d/notes", "plain words\n") == "doc"
    assert language("bin/run", "#!/usr/bin/env python3\n") == "python"
    assert language("bin/run", "#!/usr/bin/env node\n") == "javascript"


def test_prose_without_a_telling_ending_is_read_by_its_underlines() -> None:
    assert language("FAQ", "Questions\n=========\n\nWhy?\n") == "rst"
    assert language("notes.txt", "only words\n") == "text"
    assert category("requirements/default.txt", "# title\n======\nkombu\n") == "config"


def test_the_real_corpus_is_spread_over_all_four(celery) -> None:
    assert min(celery.counts().values()) > 50
    found = {file.path: file.category for file in celery.files}
    assert found["celery/celery/app/task.py"] == "code"
    assert found["celery/Changelog.rst"] == "doc"
    assert found["celery/t/unit/app/test_app.py"] == "test"
    assert found["celery/requirements/default.txt"] == "config"

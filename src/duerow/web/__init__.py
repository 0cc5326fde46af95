"""The web application: a dashboard and an HTTP API, with access control; needs the extra `dashboard`."""

from duerow.queue.audit import AuditEntry
from duerow.web.application import Application, SeveralApplications, application
from duerow.web.audit import Audit
from duerow.web.security.accounts import Account, Accounts, AccountsFile, digest, hash_password, new_token
from duerow.web.security.proxy import TrustedProxy
from duerow.web.security.viewer import Viewer, roles_of
from duerow.web.web import Web

__all__ = [
    "Account",
    "Accounts",
    "AccountsFile",
    "Application",
    "Audit",
    "AuditEntry",
    "SeveralApplications",
    "TrustedProxy",
    "Viewer",
    "Web",
    "application",
    "digest",
    "hash_password",
    "new_token",
    "roles_of",
]

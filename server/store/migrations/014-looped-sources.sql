-- A file that is played as a live source: it starts again at its end.
alter table sources add column loop boolean not null default false check (type = 'file' or not loop);

-- The demo was a stream that a process of the service published. Nothing publishes it any more.
delete from sources where alias = 'Demo: street' and right(hub_path, 5) = '/demo';

-- As people write them.
create table if not exists author (
  id int unsigned not null auto_increment primary key,
  name varchar(50) not null,
  born date
) engine=InnoDB;
create table if not exists book (
  id int auto_increment,
  author_id int unsigned not null,
  title varchar(100) not null,
  isbn varchar(20) default null,
  sold int not null default 0,
  primary key (id),
  unique key isbn (isbn),
  key title (title),
  foreign key (author_id) references author (id) on delete cascade
) engine=InnoDB auto_increment=10;
create table if not exists author (id int) engine=InnoDB;
insert into author (name) values ('ann');
insert into author (name) values ('bob');
insert into author (name, born) values ('cid', '1999-12-31'), ('dan', null);
insert into book (author_id, title, isbn) values (last_insert_id(), 'by cid', 'i1');
insert into author (name) values ('eve');
insert into author (name) values ('fay');
set @fay := last_insert_id();
insert into book (author_id, title) values (@fay, 'by fay');
insert into author values (null, 'gus', null), (100, 'hal', null), (0, 'ida', '2000-01-01'), (default, 'joe', null);
insert into author values (default, 'kim', default);
insert into author values (50, 'lea', null);
insert into author (id, name) values (null, 'max');
insert into book (id, author_id, title, isbn) values (20, 1, 'x', 'i2'), (21, 2, 'y', 'i3'), (22, 3, 'z', null);
insert ignore into book (id, author_id, title, isbn) values (20, 1, 'no', 'i9'), (23, 1, 'dup isbn', 'i2'), (24, 1, 'yes', 'i4'), (25, 9999, 'no parent', 'i5');
replace into book (id, author_id, title, isbn) values (21, 2, 'replaced', 'i3'), (26, 2, 'takes i4', 'i4');
insert into book (id, author_id, title, isbn) values (20, 1, 'x', 'i2') on duplicate key update sold = sold + 1, title = upper(title);
insert into book (author_id, title, isbn) values (1, 'gen', 'i2'), (1, 'gen2', 'i10') on duplicate key update sold = sold + 10;
insert into book (author_id, title) values (1, 'after');
insert into book (author_id, title) values (2, 'after too'), (3, 'and more');
insert into book (author_id, title) select id, concat('all of ', name) from author order by id;
insert into book (author_id, title) values (1, upper('function')), (2, concat('a', 'b'));
insert into book set author_id = 2, title = 'set';
INSERT INTO book (author_id, title) VALUES
  -- comments between rows
  (1, 'first'), /* and more */
  # of them
  (2, 'second');
set @a := 1, @b = 'text; with a semicolon';
insert into book (author_id, title) values (@a, @b);
insert into book (author_id, title) values ((select min(id) from author), 'sub');
select @c := max(id) from author;
insert into book (author_id, title) values (@c, 'from select');
update book set sold = sold + id where id > 20;
delete from book where title like 'all of %' and author_id > 3;
insert into book (author_id, title) values (1, 'last');
insert low_priority into book (author_id, title) value (1, 'value');
create table none (a int, b varchar(10));
insert into none values (3, 'c'), (1, 'a'), (2, 'b'), (1, 'a');
insert into none values (0, null);
insert none (b) values ('x'), ('y');
create table copy as select * from none;
create table twin like book;
insert into twin select * from book;
insert into twin (author_id, title) values (77, 'no key here');
create table checked (n int primary key, m int check (m > 0)) engine=InnoDB;
insert into checked values (3, 1), (1, 2), (2, null);
create table tree (id int not null primary key, up int, key up (up), constraint tree_up foreign key (up) references tree (id)) engine=InnoDB;
insert into tree values (1, null), (2, 1), (3, 2), (4, 2);
insert into tree values (5, 4);
insert into tree values (6, 6);
